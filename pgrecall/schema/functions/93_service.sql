-- What a service tells whoever runs it: whether the schema is still the one it was started for, and figures of the
-- whole database, in which no tenant, no title and no text can be told.

-- schema_state: the revision of the tables and the fingerprint of the functions, as the last upgrade left them.
CREATE OR REPLACE FUNCTION recall.schema_state() RETURNS TABLE (revision text, functions text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT (SELECT v.version_num FROM recall.alembic_version v),
           (SELECT s.value #>> '{}' FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'schema.functions')
$$;

-- job_census: of each job the tenants it last ran for, how many of these runs are under way and how many failed, and
-- when the newest that was done ended; by job.
CREATE OR REPLACE FUNCTION recall.job_census() RETURNS jsonb
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    SELECT coalesce(jsonb_agg(to_jsonb(c) ORDER BY c.job), '[]')
    FROM (
        SELECT r.job, count(*) AS tenants,
               count(*) FILTER (WHERE recall.state_of(r) = 'running') AS running,
               count(*) FILTER (WHERE r.state = 'failed') AS failed,
               recall.epoch(max(r.finished_at) FILTER (WHERE r.state = 'done')) AS done_at
        FROM (SELECT DISTINCT o.tenant, o.job FROM recall.job_run o) j
        CROSS JOIN LATERAL recall.last_run(j.tenant, j.job) r
        GROUP BY r.job) c
$$;

-- census: figures of the whole database in one document: live memories by layer and zone as the job vitality last
-- saw them (zone null before), those archived, what waits to be embedded and to be folded, and the jobs. It reads
-- every memory: ask once a minute.
CREATE OR REPLACE FUNCTION recall.census() RETURNS jsonb
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    SELECT jsonb_build_object(
        'zones', (SELECT coalesce(jsonb_agg(to_jsonb(z) ORDER BY z.layer, z.zone), '[]') FROM (
            SELECT m.layer, a.zone, count(*) AS memories
            FROM recall.memory m
            JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
            WHERE m.archived_at IS NULL GROUP BY m.layer, a.zone) z),
        'archived', (SELECT count(*) FROM recall.memory m WHERE m.archived_at IS NOT NULL),
        'awaiting_embedding', (SELECT count(*) FROM recall.memory m WHERE m.embedding IS NULL),
        'accesses_waiting', (SELECT coalesce(sum(cardinality(q.memory_ids)), 0) FROM recall.access_queue q),
        'jobs', recall.job_census())
$$;
