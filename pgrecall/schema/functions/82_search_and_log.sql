-- Searching and saying so: what was shown counts a little, and search does not wait for it.

-- search_and_log: as search, and logs a retrieval of each memory it returns, in one statement that changes no
-- other row; the fold job counts them. Commit with synchronous_commit = off where a lost retrieval is no loss.
CREATE OR REPLACE FUNCTION recall.search_and_log(
    p_query text, p_embedding halfvec DEFAULT NULL, p_k int DEFAULT 10, p_layers text[] DEFAULT NULL,
    p_roles text[] DEFAULT NULL, p_authors text[] DEFAULT NULL, p_tags text[] DEFAULT NULL,
    p_since timestamptz DEFAULT NULL, p_until timestamptz DEFAULT NULL,
    p_include_archived boolean DEFAULT false, p_include_superseded boolean DEFAULT false,
    p_include_invalid boolean DEFAULT false, p_min_relevance double precision DEFAULT 0,
    p_vitality_mode text DEFAULT 'odds', p_vitality_weight double precision DEFAULT NULL,
    p_explain boolean DEFAULT true, p_now timestamptz DEFAULT now(), p_session_id text DEFAULT NULL
) RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, tags text[],
    happened_at timestamptz, score double precision, relevance double precision,
    vitality double precision, zone text, rank int, explanation jsonb
)
LANGUAGE sql VOLATILE ROWS 10
SET search_path FROM CURRENT AS $$
    WITH hit AS MATERIALIZED (
        SELECT * FROM recall.search(
            p_query, p_embedding, p_k, p_layers, p_roles, p_authors, p_tags, p_since, p_until,
            p_include_archived, p_include_superseded, p_include_invalid, p_min_relevance, p_vitality_mode,
            p_vitality_weight, p_explain, p_now)
    ), weighed AS MATERIALIZED (
        SELECT recall.current_tenant() AS tenant, recall.require_session(p_session_id) AS session_id,
               recall.access_weight(recall.current_tenant(), 'retrieval') AS weight
    ), shown AS (
        INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, recorded_at)
        SELECT w.tenant, h.id, 'retrieval', w.weight, p_now, w.session_id, p_now
        FROM hit h CROSS JOIN weighed w
    ), queued AS (
        INSERT INTO recall.access_queue (tenant, memory_ids, at)
        SELECT w.tenant, array_agg(h.id), p_now FROM hit h CROSS JOIN weighed w GROUP BY w.tenant
    )
    SELECT h.* FROM hit h ORDER BY h.rank
$$;
