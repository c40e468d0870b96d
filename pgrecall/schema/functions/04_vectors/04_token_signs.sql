-- Token signs: one bit string for each token state of a memory that its embedder kept, the signs of its numbers. By them
-- a question is compared with a memory token by token (late interaction: O. Khattab and M. Zaharia, SIGIR 2020).

-- tokens_problem: why this is no list of token signs, in one clause, else NULL: an array of at most 32 texts, each `x`
-- and the bits as hexadecimal digits, at most 1,024 and all as many.
CREATE OR REPLACE FUNCTION recall.tokens_problem(p_tokens jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
BEGIN
    IF p_tokens IS NULL OR jsonb_typeof(p_tokens) = 'null' THEN
        RETURN NULL;
    ELSIF jsonb_typeof(p_tokens) <> 'array' THEN
        RETURN 'its token signs are not an array';
    ELSIF jsonb_array_length(p_tokens) > 32 THEN
        RETURN format('it has the signs of %s tokens, more than 32', jsonb_array_length(p_tokens));
    ELSIF EXISTS (
        SELECT FROM jsonb_array_elements(p_tokens) t
        WHERE jsonb_typeof(t) <> 'string' OR t #>> '{}' !~ '^x[0-9a-f]+$' OR length(t #>> '{}') > 257) THEN
        RETURN 'its token signs are not all x and 1 to 256 hexadecimal digits';
    ELSIF (SELECT count(DISTINCT length(t)) FROM jsonb_array_elements_text(p_tokens) t) > 1 THEN
        RETURN 'its token signs are not all of one length';
    END IF;
    RETURN NULL;
END $$;

-- tokens_read: token signs as bit strings, NULL for NULL and null. Raises for what tokens_problem finds.
CREATE OR REPLACE FUNCTION recall.tokens_read(p_tokens jsonb) RETURNS bit varying[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_problem text := recall.tokens_problem(p_tokens);
BEGIN
    IF v_problem IS NOT NULL THEN
        PERFORM recall.raise_invalid(format('A text cannot be compared by its tokens: %s.', v_problem));
    ELSIF p_tokens IS NULL OR jsonb_typeof(p_tokens) = 'null' THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(
        SELECT t.signs::bit varying FROM jsonb_array_elements_text(p_tokens) WITH ORDINALITY t(signs, place)
        ORDER BY t.place);
END $$;

-- store_token_signs: stores token signs of these memories, made by the embedder p_model, in place of what was there:
-- p_tokens is an array with an element for each id (null: none, nothing changes).
CREATE OR REPLACE FUNCTION recall.store_token_signs(
    p_tenant text, p_ids bigint[], p_tokens jsonb, p_model text
) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO recall.token_signs AS s (tenant, memory_id, model, signs)
    SELECT p_tenant, u.id, p_model, recall.tokens_read(t.signs)
    FROM unnest(p_ids) WITH ORDINALITY u(id, place)
    JOIN jsonb_array_elements(p_tokens) WITH ORDINALITY t(signs, place) USING (place)
    WHERE u.id IS NOT NULL AND jsonb_typeof(t.signs) = 'array'
    ORDER BY u.id
    ON CONFLICT (tenant, memory_id) DO UPDATE SET model = excluded.model, signs = excluded.signs;
END $$;

-- token_similarities: how alike the tokens of a question, of which there are at most 16, and those of each of these
-- memories are (MaxSim): the mean over the question's tokens of the greatest likeness to a token of the memory, or .9
-- times to one of the turn before it. The likeness of two tokens is 1 - 2 h / n, with h of their n signs different.
-- Memories without signs by this embedder are left out. Flat: one pass over a memory's tokens compares all of the
-- question's.
CREATE OR REPLACE FUNCTION recall.token_similarities(
    p_tenant text, p_ids bigint[], p_model text, p_tokens bit varying[]
) RETURNS TABLE (id bigint, similarity double precision)
LANGUAGE plpgsql STABLE ROWS 40
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    WITH own AS MATERIALIZED (
        SELECT u AS id, b.src AS before
        FROM unnest(p_ids) u
        LEFT JOIN LATERAL (
            SELECT l.src FROM recall.link l
            WHERE l.tenant = p_tenant AND l.dst = u AND l.relation = 'next' ORDER BY l.src LIMIT 1) b ON true
    ), nearest AS MATERIALIZED (
        SELECT r.id, x.*
        FROM (SELECT o.id FROM own o UNION SELECT o.before FROM own o WHERE o.before IS NOT NULL) r
        CROSS JOIN LATERAL (
            SELECT k.signs FROM recall.token_signs k
            WHERE k.tenant = p_tenant AND k.memory_id = r.id AND k.model = p_model
              AND length(k.signs[1]) = length(p_tokens[1]) OFFSET 0) s
        CROSS JOIN LATERAL (
            SELECT 1 - 2 * min(v <~> p_tokens[1]) / length(p_tokens[1]) AS m1,
                   1 - 2 * min(v <~> p_tokens[2]) / length(p_tokens[1]) AS m2,
                   1 - 2 * min(v <~> p_tokens[3]) / length(p_tokens[1]) AS m3,
                   1 - 2 * min(v <~> p_tokens[4]) / length(p_tokens[1]) AS m4,
                   1 - 2 * min(v <~> p_tokens[5]) / length(p_tokens[1]) AS m5,
                   1 - 2 * min(v <~> p_tokens[6]) / length(p_tokens[1]) AS m6,
                   1 - 2 * min(v <~> p_tokens[7]) / length(p_tokens[1]) AS m7,
                   1 - 2 * min(v <~> p_tokens[8]) / length(p_tokens[1]) AS m8,
                   1 - 2 * min(v <~> p_tokens[9]) / length(p_tokens[1]) AS m9,
                   1 - 2 * min(v <~> p_tokens[10]) / length(p_tokens[1]) AS m10,
                   1 - 2 * min(v <~> p_tokens[11]) / length(p_tokens[1]) AS m11,
                   1 - 2 * min(v <~> p_tokens[12]) / length(p_tokens[1]) AS m12,
                   1 - 2 * min(v <~> p_tokens[13]) / length(p_tokens[1]) AS m13,
                   1 - 2 * min(v <~> p_tokens[14]) / length(p_tokens[1]) AS m14,
                   1 - 2 * min(v <~> p_tokens[15]) / length(p_tokens[1]) AS m15,
                   1 - 2 * min(v <~> p_tokens[16]) / length(p_tokens[1]) AS m16
            FROM unnest(s.signs) t(v) WHERE length(v) = length(p_tokens[1])) x
    )
    SELECT o.id, (coalesce(greatest(n.m1, 0.9 * b.m1), 0) + coalesce(greatest(n.m2, 0.9 * b.m2), 0)
            + coalesce(greatest(n.m3, 0.9 * b.m3), 0) + coalesce(greatest(n.m4, 0.9 * b.m4), 0)
            + coalesce(greatest(n.m5, 0.9 * b.m5), 0) + coalesce(greatest(n.m6, 0.9 * b.m6), 0)
            + coalesce(greatest(n.m7, 0.9 * b.m7), 0) + coalesce(greatest(n.m8, 0.9 * b.m8), 0)
            + coalesce(greatest(n.m9, 0.9 * b.m9), 0) + coalesce(greatest(n.m10, 0.9 * b.m10), 0)
            + coalesce(greatest(n.m11, 0.9 * b.m11), 0) + coalesce(greatest(n.m12, 0.9 * b.m12), 0)
            + coalesce(greatest(n.m13, 0.9 * b.m13), 0) + coalesce(greatest(n.m14, 0.9 * b.m14), 0)
            + coalesce(greatest(n.m15, 0.9 * b.m15), 0) + coalesce(greatest(n.m16, 0.9 * b.m16), 0)) / cardinality(p_tokens)
    FROM own o JOIN nearest n ON n.id = o.id LEFT JOIN nearest b ON b.id = o.before;
END $$;
