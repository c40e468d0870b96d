-- A tenant with work for every job, as of 2026-06-01 12:00 UTC, the moment that the jobs are run for.

SELECT set_config('recall.tenant', 'acme', false);

-- 400 old memories: chains of references with side branches, so that some of them hold the graph together.
SELECT count(*) FROM recall.remember_many((
    SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'key', 'note-' || n,
        'title', 'Note ' || n,
        'body', 'About ' || md5(n::text) || ' and ' || md5((n / 7)::text),
        'layer', (ARRAY['knowledge', 'episodic', 'activity', 'entity'])[n % 4 + 1],
        'occurred_at', timestamptz '2025-04-01 12:00Z' - n * interval '14 hours',
        'expires_at', CASE WHEN n % 5 = 0 THEN timestamptz '2026-06-01 12:00Z' - n * interval '1 minute' END,
        'links', jsonb_build_array(jsonb_build_object('target', 'note-' || (n / 2 + 1))))))
    FROM generate_series(2, 401) n), p_now => timestamptz '2025-04-27 12:00Z');

-- 800 searches that no fold has looked at, most of them showing again what others have shown.
WITH shown AS (
    SELECT s, k, (s * 7919 + k * k * 31) % 250 + 1 AS place,
           timestamptz '2026-06-01 12:00Z' - (s * 37 % 1000) * interval '1 hour' AS at
    FROM generate_series(1, 800) s, generate_series(1, 5) k
), hit AS (
    SELECT DISTINCT ON (h.s, m.id) h.s, m.id, h.at, h.k
    FROM shown h
    JOIN (SELECT id, row_number() OVER (ORDER BY id) AS place FROM recall.memory) m USING (place)
    ORDER BY h.s, m.id, h.k
), logged AS (
    INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, recorded_at)
    SELECT 'acme', h.id, 'retrieval', 0.1 * h.k, h.at, 'session-' || h.s / 3, h.at FROM hit h ORDER BY h.s, h.id
)
INSERT INTO recall.access_queue (tenant, memory_ids, at)
SELECT 'acme', array_agg(h.id), min(h.at) FROM hit h GROUP BY h.s ORDER BY h.s;
