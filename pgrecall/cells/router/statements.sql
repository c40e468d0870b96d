-- Statements that the router runs in cells and on its coordinator. Each has a name, by which statements.py reads it.

-- name: declared
SELECT p.proname::text AS name, d.least_role, pg_get_function_arguments(p.oid) AS arguments,
       coalesce((p.proargnames)[1:p.pronargs], '{}') AS names, pg_get_function_result(p.oid) AS result,
       p.proretset AS returns_rows,
       ARRAY(SELECT a.name FROM unnest(p.proargnames, p.proargmodes) WITH ORDINALITY a(name, mode, place)
             WHERE a.mode = 't' ORDER BY a.place) AS columns
FROM recall_private.declared_functions() d
JOIN pg_proc p ON p.proname = d.name AND p.pronamespace = 'recall'::regnamespace
WHERE d.least_role <> 'recall_owner'
ORDER BY p.proname;

-- name: coordinator
SELECT current_setting('shared_preload_libraries', true) ~ '\mcitus\M' AS loaded,
       to_regnamespace('recall') IS NOT NULL AS is_cell,
       to_regclass('recall_cells.place') IS NOT NULL AS has_directory,
       to_regclass('recall_router.route') IS NOT NULL AS routes,
       (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) AS superuser,
       current_user::text AS role, current_database()::text AS database;

-- name: extensions
SELECT e.extname::text AS name, e.extversion AS version, n.nspname::text AS namespace
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname IN ('citus', 'vector');

-- name: other_tables
SELECT c.logicalrelid::text AS name FROM pg_dist_partition c
WHERE c.logicalrelid <> coalesce(to_regclass('recall_router.place')::oid, 0) ORDER BY 1;

-- name: nodes
SELECT n.groupid AS "group", n.nodename AS host, n.nodeport AS port, n.isactive AS active,
       n.metadatasynced AS synced
FROM pg_dist_node n WHERE n.noderole = 'primary' ORDER BY n.groupid;

-- The shard of each of many keys, with its node. A shard has more than one key.
-- name: keys
SELECT k AS number, s.shardid AS shard, p.groupid AS "group"
FROM generate_series(1, 2000) k
CROSS JOIN LATERAL get_shard_id_for_distribution_column(
    'recall_router.place', ROW(k)::recall_router.key) s(shardid)
JOIN pg_dist_placement p USING (shardid) ORDER BY k;

-- name: routes
SELECT r.cell, (r.key).number AS number, s.shardid AS shard, p.groupid AS "group"
FROM recall_router.route r
CROSS JOIN LATERAL get_shard_id_for_distribution_column('recall_router.place', r.key) s(shardid)
JOIN pg_dist_placement p USING (shardid) ORDER BY r.cell;

-- name: set_route
INSERT INTO recall_router.route AS r (cell, key)
VALUES (%(cell)s, ROW(%(number)s)::recall_router.key)
ON CONFLICT (cell) DO UPDATE SET key = excluded.key;

-- name: wrappers
SELECT p.proname::text AS name, pg_get_function_arguments(p.oid) AS arguments,
       pg_get_function_identity_arguments(p.oid) AS identity, pg_get_function_result(p.oid) AS result,
       p.prosrc AS body, p.prosecdef AS as_owner
FROM pg_proc p
WHERE p.pronamespace = to_regnamespace('recall_router') AND (p.proargnames)[1] = 'p_tenant'
  AND p.proname NOT IN ('enter', 'key_of') ORDER BY p.proname;

-- name: delegated
SELECT p.proname::text AS name
FROM pg_proc p JOIN pg_dist_object d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE p.pronamespace = 'recall_router'::regnamespace AND d.distribution_argument_index = 0
  AND d.force_delegation AND d.colocationid = (
      SELECT t.colocationid FROM pg_dist_partition t WHERE t.logicalrelid = 'recall_router.place'::regclass);

-- name: strategy
SELECT s.name FROM pg_dist_rebalance_strategy s WHERE s.default_strategy;
