-- Statements that the move of a tenant runs on both servers.

-- name: subscribed
SELECT count(*) AS n FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
WHERE s.subname = %(name)s AND d.datname = current_database();

-- name: subscription
SELECT s.oid FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
WHERE s.subname = %(name)s AND d.datname = current_database();

-- name: copied
SELECT count(*) AS tables, count(*) FILTER (WHERE r.srsubstate = 'r') AS ready
FROM pg_subscription_rel r JOIN pg_subscription s ON s.oid = r.srsubid WHERE s.subname = %(name)s;

-- name: progress
SELECT count(*) AS moved FROM pg_stat_progress_copy
WHERE datname = current_database() AND type = 'CALLBACK' AND %(name)s::text <> '';

-- name: workers
SELECT w.pid FROM pg_stat_subscription w WHERE w.subname = %(name)s AND w.pid IS NOT NULL;

-- name: lag
SELECT greatest(%(lsn)s::pg_lsn - s.confirmed_flush_lsn, 0) AS lag FROM pg_replication_slots s
WHERE s.slot_name = %(name)s;

-- name: slots
SELECT slot_name, active FROM pg_replication_slots WHERE slot_name ~ %(pattern)s;

-- name: without_triggers
SELECT set_config('session_replication_role', 'replica', true)
WHERE has_parameter_privilege('session_replication_role', 'SET');

-- name: embedder
SELECT (SELECT s.value #>> '{}' FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'embedding.model') AS embedder;

-- name: set_embedder
INSERT INTO recall.setting (tenant, name, value)
VALUES ('*', 'embedding.model', to_jsonb(%(embedder)s::text)) ON CONFLICT DO NOTHING;

-- The tenant takes along on which server its changes were logged: at the target, their numbers are another era's.
-- name: keep_era
INSERT INTO recall.setting (tenant, name, value)
SELECT %(tenant)s, s.name, s.value FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'changes.era'
ON CONFLICT DO NOTHING;
