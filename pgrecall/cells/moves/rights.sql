-- The rights of a role, and the settings of its server. On servers where nobody can grant the attribute REPLICATION, the
-- role rds_replication takes its place.

-- name: rights
SELECT r.rolname AS role, r.rolsuper AS superuser, current_setting('wal_level') AS wal_level,
       current_database() AS database, o.rolname AS owner,
       pg_has_role(o.oid, 'USAGE') AND pg_has_role(o.oid, 'SET') AS as_owner,
       has_database_privilege(current_database(), 'CREATE') AS may_create,
       rds.there AS on_rds, r.rolsuper OR r.rolreplication OR rds.ours AS may_replicate,
       pg_has_role('pg_create_subscription', 'USAGE') AS may_subscribe
FROM pg_roles r
JOIN pg_namespace n ON n.nspname = 'recall'
JOIN pg_roles o ON o.oid = n.nspowner
CROSS JOIN (SELECT count(*) > 0 AS there, coalesce(bool_or(pg_has_role(g.oid, 'USAGE')), false) AS ours
            FROM pg_roles g WHERE g.rolname = 'rds_replication') rds
WHERE r.rolname = current_user;
