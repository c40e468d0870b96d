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
-- question need not be about it. The similarity of two tokens is 1 - 2 h / n, where h of their n signs differ. Memories
-- without signs by this embedder are left out. Eight tokens of the query are compared in one pass over a memory's
-- tokens, because few queries have more, and each further variable would cost as much as a comparison.
CREATE OR REPLACE FUNCTION recall_private.token_similarities(
    p_tenant text, p_ids bigint[], p_model text, p_tokens bit varying[], p_questions bigint[], p_answers bigint[]
) RETURNS TABLE (id bigint, similarity double precision)
LANGUAGE plpgsql STABLE ROWS 40
-- The planner expects ten elements in an array and would join forty with forty in loops.
SET enable_nestloop = off AS $$
DECLARE
    v_length int := length(p_tokens[1]);
    -- Variables, because reading an element of an array costs as much as comparing two tokens.
    q1 bit varying := p_tokens[1]; q2 bit varying := p_tokens[2];
    q3 bit varying := p_tokens[3]; q4 bit varying := p_tokens[4];
    q5 bit varying := p_tokens[5]; q6 bit varying := p_tokens[6];
    q7 bit varying := p_tokens[7]; q8 bit varying := p_tokens[8];
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
        SELECT u AS id, b.src AS before
        FROM unnest(p_ids) u
        LEFT JOIN LATERAL (
            SELECT l.src FROM recall.link l
            WHERE l.tenant = p_tenant AND l.dst = u AND l.relation = 'next' ORDER BY l.src LIMIT 1) b
            ON b.src <> ALL (p_questions) OR u = ANY (p_answers)
    ), nearest AS MATERIALIZED (
        SELECT s.id, x.*
        FROM (
            SELECT k.memory_id AS id, k.signs FROM recall.token_signs k
            WHERE k.tenant = p_tenant AND k.model = p_model AND k.memory_id = ANY (p_ids || ARRAY(SELECT o.before FROM own o))
              AND length(k.signs[1]) = v_length OFFSET 0) s
        CROSS JOIN LATERAL (
            SELECT 1 - 2 * min(t.v <~> q1) / v_length AS m1, 1 - 2 * min(t.v <~> q2) / v_length AS m2,
                   1 - 2 * min(t.v <~> q3) / v_length AS m3, 1 - 2 * min(t.v <~> q4) / v_length AS m4,
                   1 - 2 * min(t.v <~> q5) / v_length AS m5, 1 - 2 * min(t.v <~> q6) / v_length AS m6,
                   1 - 2 * min(t.v <~> q7) / v_length AS m7, 1 - 2 * min(t.v <~> q8) / v_length AS m8
            -- In the target list of a subquery, unnest does not build a tuplestore.
            FROM (SELECT unnest(s.signs) AS v OFFSET 0) t) x
    )
    SELECT o.id, (coalesce(greatest(n.m1, 0.9 * b.m1), 0) + coalesce(greatest(n.m2, 0.9 * b.m2), 0)
            + coalesce(greatest(n.m3, 0.9 * b.m3), 0) + coalesce(greatest(n.m4, 0.9 * b.m4), 0)
            + coalesce(greatest(n.m5, 0.9 * b.m5), 0) + coalesce(greatest(n.m6, 0.9 * b.m6), 0)
            + coalesce(greatest(n.m7, 0.9 * b.m7), 0) + coalesce(greatest(n.m8, 0.9 * b.m8), 0)) / cardinality(p_tokens)
    FROM own o JOIN nearest n ON n.id = o.id LEFT JOIN nearest b ON b.id = o.before;
END $$;
