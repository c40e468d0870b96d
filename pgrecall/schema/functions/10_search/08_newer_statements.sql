-- The newer of two statements that say the same with another value.

-- newer_statements: pairs among these memories, best first, of which the newer states what the older one does with another
-- value: texts of at most 20 words, whose vectors have a cosine of at least 0.6, and which share three words in ten. Long
-- texts share that many without being about the same. The newer one may be up to p_gap
-- log-odds less relevant than the older, by which it then ranks: `log_odds` are those of the older one. Neither replaces
-- the other: whether it does, only a person knows. Pairs with the same words, and questions, are no versions.
CREATE OR REPLACE FUNCTION recall.newer_statements(
    p_tenant text, p_ids bigint[], p_log_odds double precision[], p_gap double precision
) RETURNS TABLE (older bigint, newer bigint, log_odds double precision)
LANGUAGE plpgsql STABLE ROWS 3
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    WITH one AS MATERIALIZED (
        SELECT u.id, u.log_odds, v.embedding, v.embedded_with, m.happened_at, m.speech_act,
               tsvector_to_array(m.said) AS words
        FROM unnest(p_ids, p_log_odds) u(id, log_odds)
        JOIN recall.stored_vectors(p_tenant, p_ids) v ON v.id = u.id
        CROSS JOIN LATERAL (
            SELECT k.happened_at, k.speech_act, w.said FROM recall.memory k
            CROSS JOIN LATERAL (SELECT ts_filter(k.search_text, '{a,c}') AS said OFFSET 0) w  -- title and body
            WHERE k.tenant = p_tenant AND k.id = u.id AND length(w.said) <= 20 OFFSET 0) m
    )
    SELECT o.id, n.id, o.log_odds
    FROM one o
    JOIN one n ON n.happened_at > o.happened_at AND n.log_odds >= o.log_odds - p_gap AND n.embedded_with = o.embedded_with
    CROSS JOIN LATERAL (
        SELECT 1 - (o.embedding <=> n.embedding) AS similarity OFFSET 0) s
    CROSS JOIN LATERAL (
        SELECT (SELECT count(*) FROM unnest(o.words) w WHERE w = ANY (n.words)) AS shared
        WHERE s.similarity >= 0.6 OFFSET 0) c
    WHERE NOT recall.says_nothing(coalesce(o.speech_act, '')) AND NOT recall.says_nothing(coalesce(n.speech_act, ''))
      AND c.shared >= 0.3 * (cardinality(o.words) + cardinality(n.words) - c.shared)
      AND c.shared < greatest(cardinality(o.words), cardinality(n.words));
END $$;
