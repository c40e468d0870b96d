-- Statements that administrators run in a cell. Each has a name, by which statements.py reads it.

-- name: facts
SELECT (s.value ->> 'number')::bigint AS number, s.value ->> 'installation' AS installation,
       (s.value ->> 'checked')::boolean AS checked, e.value #>> '{}' AS embedder,
       pg_database_size(current_database()) AS bytes,
       (SELECT count(*) FROM pg_sequences q WHERE q.schemaname = 'recall'
          AND q.min_value <> greatest((s.value ->> 'number')::bigint << 40, 1)) AS outside
FROM (SELECT) one
LEFT JOIN recall.setting s ON s.tenant = '*' AND s.name = 'cell'
LEFT JOIN recall.setting e ON e.tenant = '*' AND e.name = 'embedding.model';

-- Where a tenant lives must survive a crash, even if commits usually do not wait for the disk. Otherwise it could be in
-- two cells.
-- name: set_resident
INSERT INTO recall.resident AS r (tenant, state, cell) VALUES (%(tenant)s, %(state)s, %(cell)s)
ON CONFLICT (tenant) DO UPDATE SET state = excluded.state, cell = excluded.cell, since = now()
RETURNING CASE WHEN current_setting('synchronous_commit') = 'off'
          THEN set_config('synchronous_commit', 'on', true) END;

-- A memory takes its share of all tables. Exact sums would read every row.
-- name: sizes
WITH counted AS (
    SELECT t.tenant, (SELECT count(*) FROM recall.memory m WHERE m.tenant = t.tenant) AS memories
    FROM unnest(%(tenants)s::text[]) t(tenant)
), whole AS (
    SELECT sum(pg_total_relation_size(c.oid)) AS bytes,
           (SELECT greatest(k.reltuples, 0) FROM pg_class k
            WHERE k.oid = 'recall.memory'::regclass) AS guessed
    FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind = 'r'
)
SELECT c.tenant, c.memories,
       (w.bytes * c.memories / greatest(w.guessed, (SELECT sum(memories) FROM counted), 1))::bigint AS bytes
FROM counted c CROSS JOIN whole w;

-- A virtual transaction that holds a snapshot, or has written, may have seen the earlier state. A role that must not see
-- the kind of other processes still sees whether they have a role; background processes have none. A prepared transaction
-- has no process any more and tells nobody what it has seen: every one counts.
-- name: under_way
SELECT l.virtualxid AS id FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'virtualxid' AND l.granted AND a.datname = current_database()
  AND a.pid <> pg_backend_pid() AND a.pid <> ALL (%(besides)s::int[])
  AND coalesce(a.backend_type IN ('client backend', 'parallel worker'), a.usesysid IS NOT NULL)
  AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
UNION ALL SELECT p.gid FROM pg_prepared_xacts p WHERE p.database = current_database();

-- name: still
SELECT l.virtualxid AS id FROM pg_locks l
WHERE l.locktype = 'virtualxid' AND l.virtualxid = ANY (%(waiting)s)
UNION ALL SELECT p.gid FROM pg_prepared_xacts p WHERE p.database = current_database();

-- What opens a tenant: by its digest, of which each is in one cell only.
-- name: secrets
SELECT k.hash AS digest, k.tenant, 'key ' || k.id AS name, k.revoked_at IS NULL AS opens FROM recall.api_key k
UNION ALL
SELECT s.digest, s.tenant, 'a session of key ' || s.key_id, k.revoked_at IS NULL
FROM recall.page_session s JOIN recall.api_key k ON k.tenant = s.tenant AND k.id = s.key_id WHERE s.ends_at > now()
UNION ALL
SELECT g.digest, g.tenant, 'a grant of key ' || g.key_id, k.revoked_at IS NULL
FROM recall.oauth_grant g JOIN recall.api_key k ON k.tenant = g.tenant AND k.id = g.key_id WHERE g.ends_at > now();
