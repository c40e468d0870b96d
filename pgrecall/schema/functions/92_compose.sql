-- What a block of context is composed with: how alike its memories are, what replaced them, and saying what was shown.

-- few_ids: these ids once each, in order, without NULL; an error for more than 200, whose pairs are too many.
CREATE OR REPLACE FUNCTION recall.few_ids(p_ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    v_ids bigint[] := ARRAY(SELECT DISTINCT i FROM unnest(p_ids) i WHERE i IS NOT NULL ORDER BY i);
BEGIN
    IF cardinality(v_ids) > 200 THEN
        PERFORM recall.reject(
            format('There are %s memories to compare; 200 is the most.', cardinality(v_ids)), 'Ask for fewer.');
    END IF;
    RETURN v_ids;
END $$;

-- similarities: the cosine of each two of these memories of this tenant that were embedded by one embedder, a < b; by
-- a and b. A pair with a vector of length zero, which is like nothing, is left out, as are ids that are not there.
CREATE OR REPLACE FUNCTION recall.similarities(p_ids bigint[])
RETURNS TABLE (a bigint, b bigint, similarity double precision)
LANGUAGE plpgsql STABLE ROWS 1000
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[] := recall.few_ids(p_ids);
BEGIN
    RETURN QUERY
    WITH vector AS MATERIALIZED (
        SELECT v.id, v.embedded_with, v.embedding FROM recall.vectors_of(v_tenant, v_ids) v
    )
    SELECT x.id, y.id, least(greatest(1 - (x.embedding <=> y.embedding), -1), 1)
    FROM vector x JOIN vector y ON x.id < y.id AND x.embedded_with = y.embedded_with
    WHERE (x.embedding <=> y.embedding) <> 'NaN'
    ORDER BY 1, 2;
END $$;

-- successors: the memories that replace these, at any remove: `step` 1 replaces the memory itself; by id and step.
CREATE OR REPLACE FUNCTION recall.successors(p_ids bigint[])
RETURNS TABLE (id bigint, successor bigint, step int)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[] := recall.few_ids(p_ids);
BEGIN
    RETURN QUERY
    WITH RECURSIVE chain AS (
        SELECT m.id, m.superseded_by AS successor, 1 AS step FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id = ANY (v_ids) AND m.superseded_by IS NOT NULL
        UNION ALL
        SELECT c.id, m.superseded_by, c.step + 1 FROM chain c
        JOIN recall.memory m ON m.tenant = v_tenant AND m.id = c.successor
        WHERE m.superseded_by IS NOT NULL
    ) CYCLE successor SET circular USING path
    SELECT c.id, c.successor, c.step FROM chain c WHERE NOT c.circular ORDER BY c.id, c.step;
END $$;

-- log_shown: logs a retrieval of each of these memories, as search_and_log does of what it returns, and changes no
-- other row; with the question also the search, with those memories that are there in the order given, be it none.
-- Returns the id of the search, for used() and rejected(); NULL without a question, or where none are kept.
CREATE OR REPLACE FUNCTION recall.log_shown(
    p_ids bigint[], p_session_id text DEFAULT NULL, p_now timestamptz DEFAULT now(), p_query text DEFAULT NULL,
    p_profile text DEFAULT NULL, p_queries text[] DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[] := recall.few_ids(p_ids);
BEGIN
    IF p_query <> '' THEN
        PERFORM recall.check_query(p_query);
    END IF;
    RETURN recall.log_search(
        v_tenant, ARRAY(
            SELECT m.id FROM recall.memory m
            WHERE m.tenant = v_tenant AND m.id = ANY (v_ids) ORDER BY array_position(recall.flat(p_ids), m.id)),
        p_session_id, recall.finite(p_now), p_query, p_profile, p_queries);
END $$;
