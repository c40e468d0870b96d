-- Similarities between memories.

-- similarities: the cosine of each pair (a < b) of these memories that were embedded by the same embedder, by a and b.
-- Pairs with a zero vector and unknown ids are left out.
CREATE OR REPLACE FUNCTION recall.similarities(p_ids bigint[])
RETURNS TABLE (a bigint, b bigint, similarity double precision)
LANGUAGE plpgsql STABLE ROWS 1000
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[] := recall.distinct_ids(p_ids);
BEGIN
    RETURN QUERY
    WITH vector AS MATERIALIZED (
        SELECT v.id, v.embedded_with, v.embedding FROM recall.stored_vectors(v_tenant, v_ids) v
    )
    SELECT x.id, y.id, least(greatest(1 - (x.embedding <=> y.embedding), -1), 1)
    FROM vector x JOIN vector y ON x.id < y.id AND x.embedded_with = y.embedded_with
    WHERE (x.embedding <=> y.embedding) <> 'NaN'
    ORDER BY 1, 2;
END $$;
