-- Token signs: for each token state that the embedder kept of a memory, a bit string with the signs of its numbers. They
-- are used to compare a query with a memory token by token (late interaction: O. Khattab and M. Zaharia, SIGIR 2020).

-- tokens_problem: why this is not a list of token signs, in one clause, else NULL. Such a list is an array of at most 32
-- texts of equal length, each `x` and up to 1,024 bits as hexadecimal digits.
CREATE OR REPLACE FUNCTION recall_private.tokens_problem(p_tokens jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_read boolean;
    v_even boolean;
BEGIN
    IF p_tokens IS NULL OR jsonb_typeof(p_tokens) = 'null' THEN
        RETURN NULL;
    ELSIF jsonb_typeof(p_tokens) <> 'array' THEN
        RETURN 'its token signs are not an array';
    ELSIF jsonb_array_length(p_tokens) > 32 THEN
        RETURN format('it has the signs of %s tokens, more than 32', jsonb_array_length(p_tokens));
    END IF;
    SELECT bool_and(jsonb_typeof(t) = 'string' AND t #>> '{}' ~ '^x[0-9a-f]+$' AND length(t #>> '{}') <= 257),
           count(DISTINCT length(t #>> '{}')) <= 1
    INTO v_read, v_even
    FROM jsonb_array_elements(p_tokens) t;
    IF NOT v_read THEN
        RETURN 'its token signs are not all x and 1 to 256 hexadecimal digits';
    ELSIF NOT v_even THEN
        RETURN 'its token signs are not all of one length';
    END IF;
    RETURN NULL;
END $$;

-- tokens_read: token signs as bit strings. NULL for NULL and JSON null. Raises an error for what tokens_problem finds.
CREATE OR REPLACE FUNCTION recall_private.tokens_read(p_tokens jsonb) RETURNS bit varying[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_problem text := recall_private.tokens_problem(p_tokens);
BEGIN
    IF v_problem IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(format('The token signs of the query cannot be used: %s.', v_problem));
    ELSIF p_tokens IS NULL OR jsonb_typeof(p_tokens) = 'null' THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(
        SELECT t.signs::bit varying FROM jsonb_array_elements_text(p_tokens) WITH ORDINALITY t(signs, place)
        ORDER BY t.place);
END $$;

-- store_token_signs: stores token signs of these memories, made by the embedder p_model, replacing existing ones.
-- p_tokens is an array with one element for each id; null leaves a memory unchanged.
CREATE OR REPLACE FUNCTION recall_private.store_token_signs(
    p_tenant text, p_ids bigint[], p_tokens jsonb, p_model text
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO recall.token_signs AS s (tenant, memory_id, model, signs)
    SELECT p_tenant, u.id, p_model, recall_private.tokens_read(t.signs)
    FROM unnest(p_ids) WITH ORDINALITY u(id, place)
    JOIN jsonb_array_elements(p_tokens) WITH ORDINALITY t(signs, place) USING (place)
    WHERE u.id IS NOT NULL AND jsonb_typeof(t.signs) = 'array'
    ORDER BY u.id
    ON CONFLICT (tenant, memory_id) DO UPDATE SET model = excluded.model, signs = excluded.signs;
END $$;

-- token_similarities: the similarity (MaxSim) of the tokens of a query, at most 16, to those of each of these memories.
-- It is the mean, over the query's tokens, of the greatest similarity to a token of the memory, or .9 times that to a
-- token of the preceding turn. A preceding turn in p_questions counts only for p_answers: what somebody says after his own
-- question need not be about it. The similarity of two tokens is 1 - 2 h / n, where h of their n signs differ. So .9 times
-- that to a token of the preceding turn is the similarity to one with .05 n + .9 h different signs, and the greatest
-- similarity is that with the fewest. Memories without signs by this embedder are left out. Eight tokens of the query are
-- compared in one pass over a memory's tokens, because few queries have more, and each further one would cost as much.
CREATE OR REPLACE FUNCTION recall_private.token_similarities(
    p_tenant text, p_ids bigint[], p_model text, p_tokens bit varying[], p_questions bigint[], p_answers bigint[]
) RETURNS TABLE (id bigint, similarity double precision)
LANGUAGE plpgsql STABLE ROWS 40
-- The planner expects ten elements in an array and would join forty with forty in loops.
SET enable_nestloop = off AS $$
DECLARE
    v_length int := length(p_tokens[1]);
    v_farther double precision := 0.05 * v_length;
BEGIN
    IF cardinality(p_tokens) > 8 THEN
        RETURN QUERY
        SELECT a.id, (8 * a.similarity + (cardinality(p_tokens) - 8) * b.similarity) / cardinality(p_tokens)
        FROM recall_private.token_similarities(p_tenant, p_ids, p_model, p_tokens[:8], p_questions, p_answers) a
        JOIN recall_private.token_similarities(p_tenant, p_ids, p_model, p_tokens[9:], p_questions, p_answers) b USING (id);
        RETURN;
    END IF;
    RETURN QUERY
    WITH own AS MATERIALIZED (
        SELECT u AS id, l.src AS before
        FROM unnest(p_ids) u
        LEFT JOIN LATERAL (
            SELECT l.src FROM recall.link l
            WHERE l.tenant = p_tenant AND l.dst = u AND l.relation = 'next' ORDER BY l.src LIMIT 1) l
            ON l.src <> ALL (p_questions) OR u = ANY (p_answers)
    ), nearest AS MATERIALIZED (
        SELECT s.memory_id AS id, x.*
        -- Columns, because reading an element of an array costs as much as comparing two tokens.
        FROM (SELECT p_tokens[1] AS q1, p_tokens[2] AS q2, p_tokens[3] AS q3, p_tokens[4] AS q4,
                     p_tokens[5] AS q5, p_tokens[6] AS q6, p_tokens[7] AS q7, p_tokens[8] AS q8,
                     p_ids || ARRAY(SELECT o.before FROM own o) AS ids OFFSET 0) q
        JOIN recall.token_signs s ON s.tenant = p_tenant AND s.model = p_model AND s.memory_id = ANY (q.ids)
            AND length(s.signs[1]) = v_length
        CROSS JOIN LATERAL (
            SELECT min(t.v <~> q.q1) AS h1, min(t.v <~> q.q2) AS h2, min(t.v <~> q.q3) AS h3, min(t.v <~> q.q4) AS h4,
                   min(t.v <~> q.q5) AS h5, min(t.v <~> q.q6) AS h6, min(t.v <~> q.q7) AS h7, min(t.v <~> q.q8) AS h8
            -- In the target list of a subquery, unnest does not build a tuplestore.
            FROM (SELECT unnest(s.signs) AS v OFFSET 0) t) x
    )
    SELECT o.id, 1 - 2 * (
               coalesce(least(n.h1, v_farther + 0.9 * b.h1), 0) + coalesce(least(n.h2, v_farther + 0.9 * b.h2), 0)
               + coalesce(least(n.h3, v_farther + 0.9 * b.h3), 0) + coalesce(least(n.h4, v_farther + 0.9 * b.h4), 0)
               + coalesce(least(n.h5, v_farther + 0.9 * b.h5), 0) + coalesce(least(n.h6, v_farther + 0.9 * b.h6), 0)
               + coalesce(least(n.h7, v_farther + 0.9 * b.h7), 0) + coalesce(least(n.h8, v_farther + 0.9 * b.h8), 0)
           ) / (v_length * cardinality(p_tokens))
    FROM own o JOIN nearest n ON n.id = o.id LEFT JOIN nearest b ON b.id = o.before;
END $$;
