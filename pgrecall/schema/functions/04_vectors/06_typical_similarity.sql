-- The typical similarity of the memories of a tenant to a query. An embedder that hardly knows a language, or that uses
-- only a small part of its space, finds all texts similar, so that a cosine means less.

-- mean_embedding: the mean of the vectors, scaled to length 1, of the 1,000 newest live memories with a vector by the
-- current embedder. NULL for fewer than 20 memories, because their mean would represent their topic.
CREATE OR REPLACE FUNCTION recall.mean_embedding(
    p_tenant text, OUT embedding halfvec, OUT embedder text
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_embedder text := recall.setting_value('*', 'embedding.model') #>> '{}';
BEGIN
    EXECUTE format(
        'SELECT avg(l2_normalize(n.embedding)) FROM ('
        'SELECT v.embedding FROM recall.%I v JOIN recall.memory m ON m.tenant = (SELECT $1) AND m.id = v.memory_id '
        'WHERE v.tenant = (SELECT $1) AND v.part = 0 AND NOT v.archived AND m.embedded_with = $2 '
        'ORDER BY v.memory_id DESC LIMIT 1000) n HAVING count(*) >= 20', recall.vector_table(p_tenant))
    INTO embedding USING p_tenant, v_embedder;
    embedder := CASE WHEN embedding IS NOT NULL THEN v_embedder END;
END $$;

-- typical_similarity: the amount by which the mean cosine of this tenant's memories with a query exceeds 0.15, which is
-- about the cosine of unrelated texts in the data that relevance was fitted on. 0 if no mean is known, or only one by
-- another embedder. Relevance subtracts it from the cosine of every memory. Otherwise an embedder for English would find
-- every memory of a Spanish diary relevant.
CREATE OR REPLACE FUNCTION recall.typical_similarity(
    p_tenant text, p_embedding halfvec, p_embedder text
) RETURNS double precision
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT coalesce((
        SELECT greatest(-(l2_normalize(p_embedding) <#> l.mean_embedding) - 0.15, 0)
        FROM recall.lexeme l
        WHERE l.tenant = p_tenant AND l.word = '' AND l.mean_embedder = p_embedder
          AND vector_dims(l.mean_embedding) = vector_dims(p_embedding)), 0)
$$;
