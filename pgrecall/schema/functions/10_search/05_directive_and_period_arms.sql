-- Memories that apply whatever they look like: directives, and what was said in a period that the query names.

-- nearest_among: the p_limit memories of p_ids nearest to the query in meaning, all of them if there are no more.
CREATE OR REPLACE FUNCTION recall_private.nearest_among(p_tenant text, p_ids bigint[], p_embedding halfvec, p_limit int)
RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF cardinality(p_ids) <= p_limit THEN
        RETURN p_ids;
    END IF;
    RETURN ARRAY(
        SELECT s.id
        FROM recall_private.similarities_to_vector(p_tenant, p_ids, p_embedding) a
        CROSS JOIN unnest(a.ids, a.similarities) s(id, similarity)
        ORDER BY s.similarity DESC, s.id LIMIT p_limit);
END $$;

-- directive_arm: of the 200 newest directives that pass the filter, among the newest 1,000, the 20 nearest to the query
-- in meaning. A directive that shares nothing with the query can still apply to it. Others are found as any memory is.
CREATE OR REPLACE FUNCTION recall_private.directive_arm(
    p_tenant text, p_embedding halfvec, p_filter recall.search_filter
) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recall_private.nearest_among(p_tenant, ARRAY(
        SELECT m.id
        FROM (SELECT * FROM recall.memory k
              WHERE k.tenant = p_tenant AND k.speech_act IN ('instruction', 'preference') AND k.archived_at IS NULL
              ORDER BY k.happened_at DESC, k.id LIMIT 1000) m
        WHERE recall_private.passes_filter(m, p_filter)
        ORDER BY m.happened_at DESC, m.id LIMIT 200), p_embedding, 20);
END $$;

-- period_arm: of the 500 newest memories in a period that pass the filter, among its newest 1,000, the 50 nearest to the
-- query in meaning. "What was on my mind in the last days of April?" shares nothing with them.
CREATE OR REPLACE FUNCTION recall_private.period_arm(
    p_tenant text, p_embedding halfvec, p_period recall.period, p_filter recall.search_filter
) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN recall_private.nearest_among(p_tenant, ARRAY(
        SELECT m.id
        FROM (SELECT * FROM recall.memory k
              WHERE k.tenant = p_tenant AND k.happened_at >= coalesce(p_period.since, '-infinity')
                AND k.happened_at < coalesce(p_period.until, 'infinity')
                AND k.archived_at IS NULL
              ORDER BY k.happened_at DESC, k.id LIMIT 1000) m
        WHERE recall_private.passes_filter(m, p_filter)
        ORDER BY m.happened_at DESC, m.id LIMIT 500), p_embedding, 50);
END $$;
