-- Differences between the database and the declaration, each with the statement that repairs it. Without differences,
-- these functions return no rows.

-- granted_roles: the roles that have any rights, by rank. A role of higher rank has all rights of those below it.
CREATE OR REPLACE FUNCTION recall_private.granted_roles() RETURNS TABLE (name text, rank int, role oid)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT r.name, r.rank, to_regrole(r.name)::oid
    FROM (VALUES ('recall_reader', 1), ('recall_app', 2), ('recall_worker', 3)) r(name, rank)
$$;

-- schema_owner: the role that owns the schema, and should own everything in it.
CREATE OR REPLACE FUNCTION recall_private.schema_owner() RETURNS oid
LANGUAGE sql STABLE AS $$
    SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'recall'
$$;

-- role_problems: roles that are missing or have too many rights, and schemas that have another owner. A problem is
-- `grave` if somebody could do what they should not.
CREATE OR REPLACE FUNCTION recall_private.role_problems() RETURNS TABLE (problem text, fix text, grave boolean)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT format('There is no role %s', n.name), format('CREATE ROLE %I NOLOGIN', n.name), false
    FROM unnest(ARRAY['recall_owner', 'recall_reader', 'recall_app', 'recall_worker']) n(name)
    WHERE to_regrole(n.name) IS NULL
    UNION ALL
    SELECT format('Role %s can log in, or may do more than it should', r.rolname),
           format('ALTER ROLE %I NOLOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS', r.rolname), true
    FROM pg_roles r
    WHERE r.rolname IN ('recall_owner', 'recall_reader', 'recall_app', 'recall_worker')
      AND (r.rolcanlogin OR r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls)
    UNION ALL
    SELECT format('The schema recall belongs to %s, which can log in, instead of recall_owner', o.rolname),
           format('GRANT recall_owner TO %1$I WITH INHERIT FALSE, SET TRUE; '
                  'GRANT recall_worker TO %1$I WITH INHERIT TRUE; -- then: pgrecall upgrade', o.rolname), false
    FROM pg_roles o
    WHERE o.oid = recall_private.schema_owner() AND o.rolname <> 'recall_owner'
    UNION ALL
    SELECT format('The schema recall_private belongs to %s instead of %s', n.nspowner::regrole, recall_private.schema_owner()::regrole),
           format('ALTER SCHEMA recall_private OWNER TO %s', recall_private.schema_owner()::regrole), true
    FROM pg_namespace n WHERE n.nspname = 'recall_private' AND n.nspowner <> recall_private.schema_owner()
    UNION ALL
    SELECT format('Role %s may upgrade the schema, but may not use memories', r.rolname),
           format('GRANT recall_worker TO %I WITH INHERIT TRUE', r.rolname), false
    FROM pg_roles r
    WHERE r.rolname = session_user AND to_regrole('recall_worker') IS NOT NULL
      AND recall_private.schema_owner() <> r.oid AND pg_has_role(r.oid, recall_private.schema_owner(), 'SET')
      AND recall_private.role_rights(r.oid) = 'nothing'
    UNION ALL
    -- Functions of the owner look up types and operators there, so they would call whatever others create there.
    SELECT format('%s may create in schema %s, where the extensions are: its functions could be called by the owner''s',
                  coalesce(g.rolname, 'Everybody'), n.nspname),
           format('REVOKE CREATE ON SCHEMA %I FROM %s', n.nspname, coalesce(quote_ident(g.rolname), 'PUBLIC')), true
    FROM pg_namespace n
    CROSS JOIN LATERAL aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
    LEFT JOIN pg_roles g ON g.oid = a.grantee
    WHERE n.oid IN (SELECT e.extnamespace FROM pg_extension e WHERE e.extname IN ('vector', 'pg_trgm'))
      AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner
      AND NOT coalesce(g.rolsuper OR g.oid = recall_private.schema_owner(), false)
    UNION ALL
    SELECT format('Role %s may not use schema %s, where the extensions are', r.rolname, n.nspname),
           format('GRANT USAGE ON SCHEMA %I TO %I', n.nspname, r.rolname), false
    FROM pg_namespace n
    CROSS JOIN pg_roles r
    WHERE n.oid IN (SELECT e.extnamespace FROM pg_extension e WHERE e.extname IN ('vector', 'pg_trgm'))
      AND r.rolname IN ('recall_owner', 'recall_reader', 'recall_app', 'recall_worker')
      AND NOT has_schema_privilege(r.oid, n.oid, 'USAGE')
$$;

-- function_problems: functions that have another owner, or that act as the caller instead of the owner or the reverse; and
-- of those in the schema recall, functions that others may or may not call against the declaration, that a caller could give
-- a search path, or that lack a setting. Here the settings of all functions that others may call are stated once, and what
-- these call inherits them:
-- - client_min_messages: messages of the server's log contain planner estimates, which depend on the rows of other tenants.
-- - plan_cache_mode: plans must not depend on the tenant. If the statistics know only other tenants, the planner would take
--   every index that begins with the tenant for one that finds no row, and then read all rows of the tenant for each row
--   that it looks for. A function that has its own reasons states another mode itself.
-- - jit: statements are short, and compiling one takes longer than it runs.
-- - gin_fuzzy_search_limit: an index of words would return some of the memories with a word, by chance.
-- Settings that fence off one bad plan (enable_*, work_mem) stay with the function that has the statement.
CREATE OR REPLACE FUNCTION recall_private.function_problems() RETURNS TABLE (problem text, fix text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT
-- It answers on a full disk too.
SET work_mem = '32MB'
SET quote_all_identifiers = off AS $$
    WITH known AS MATERIALIZED (
        SELECT p.oid, format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) AS signature,
               CASE p.prokind WHEN 'a' THEN 'AGGREGATE' ELSE 'FUNCTION' END AS kind, p.proowner, p.prosecdef,
               p.proacl, p.proconfig, n.nspname = 'recall' AS within_reach, r.rank
        FROM pg_proc p
        JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname IN ('recall', 'recall_private')
        LEFT JOIN recall_private.declared_functions() d ON d.name = p.proname AND n.nspname = 'recall'
        LEFT JOIN recall_private.granted_roles() r ON r.name = d.least_role
        WHERE NOT EXISTS (
            SELECT FROM pg_depend e WHERE e.classid = 'pg_proc'::regclass AND e.objid = p.oid AND e.deptype = 'e')
    ), held AS MATERIALIZED (
        SELECT k.oid, a.grantee, a.is_grantable
        FROM known k CROSS JOIN LATERAL aclexplode(coalesce(k.proacl, acldefault('f', k.proowner))) a
        WHERE k.within_reach
    )
    SELECT format('%s is not the owner''s', k.signature),
           format('ALTER %s %s OWNER TO %s', k.kind, k.signature, recall_private.schema_owner()::regrole)
    FROM known k WHERE k.proowner <> recall_private.schema_owner()
    UNION ALL
    SELECT format('%s acts as its %s', k.signature, CASE WHEN k.prosecdef THEN 'owner' ELSE 'caller' END),
           format('ALTER FUNCTION %s SECURITY %s', k.signature,
                  CASE WHEN k.prosecdef THEN 'INVOKER' ELSE 'DEFINER' END)
    FROM known k WHERE k.prosecdef <> (k.rank IS NOT NULL)
    UNION ALL
    SELECT format('%s %s', k.signature, s.problem), format('ALTER FUNCTION %s SET %s = %s', k.signature, s.name, s.value)
    FROM known k
    CROSS JOIN (VALUES
        ('client_min_messages', 'warning', 'may tell its caller what the server logs'),
        ('plan_cache_mode', 'force_generic_plan', 'is planned for one tenant'),
        ('jit', 'off', 'may be compiled at every call'),
        ('gin_fuzzy_search_limit', '0', 'may find only some of the words')) s(name, value, problem)
    -- All others call current_tenant, it logs nothing, and the settings would cost two microseconds for each call.
    WHERE k.rank IS NOT NULL AND k.oid <> 'recall.current_tenant'::regproc
      AND NOT EXISTS (SELECT FROM unnest(k.proconfig) c
                      WHERE c LIKE s.name || '=%' AND (c = s.name || '=' || s.value OR s.name = 'plan_cache_mode'))
    UNION ALL
    SELECT format('%s is found by a search path that others can write to', k.signature),
           format('ALTER FUNCTION %s SET search_path FROM CURRENT', k.signature)
    FROM known k
    WHERE (k.rank IS NOT NULL OR k.prosecdef)
      AND NOT EXISTS (SELECT FROM unnest(k.proconfig) c WHERE c ~ '^search_path=(recall|pg_catalog),.* pg_temp$')
    UNION ALL
    SELECT format('%s may be called by %s', k.signature, coalesce(g.rolname, 'everybody')),
           format('REVOKE ALL ON FUNCTION %s FROM %s', k.signature, coalesce(quote_ident(g.rolname), 'PUBLIC'))
    FROM known k JOIN held h ON h.oid = k.oid AND h.grantee <> k.proowner
    LEFT JOIN pg_roles g ON g.oid = h.grantee LEFT JOIN recall_private.granted_roles() r ON r.role = h.grantee
    WHERE NOT coalesce(r.rank >= k.rank AND NOT h.is_grantable, false)
    UNION ALL
    SELECT format('%s may not be called by %s', k.signature, r.name),
           format('GRANT EXECUTE ON FUNCTION %s TO %I', k.signature, r.name)
    FROM known k JOIN recall_private.granted_roles() r ON r.rank >= k.rank AND r.role IS NOT NULL
    WHERE NOT EXISTS (SELECT FROM held h WHERE h.oid = k.oid AND h.grantee = r.role)
$$;

-- table_problems: tables, views and sequences that have another owner or that other roles can reach, and tables without
-- row security or with policies other than those declared.
CREATE OR REPLACE FUNCTION recall_private.table_problems() RETURNS TABLE (relation oid, problem text, fix text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT
SET quote_all_identifiers = off AS $$
    WITH known AS MATERIALIZED (
        SELECT c.oid, format('recall.%I', c.relname) AS name, c.relkind, c.relowner, c.relrowsecurity, c.relacl,
               CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END AS kind
        FROM pg_class c
        WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    ), actual AS MATERIALIZED (
        SELECT p.polrelid AS relation, p.polname::text AS policy, pg_get_expr(p.polqual, p.polrelid) AS condition,
               CASE p.polcmd WHEN '*' THEN 'ALL' WHEN 'r' THEN 'SELECT' ELSE p.polcmd::text END AS command,
               p.polpermissive AND p.polroles = '{0}' AND p.polwithcheck IS NULL AS plain
        FROM pg_policy p JOIN known k ON k.oid = p.polrelid
    )
    SELECT k.oid, format('%s is not the owner''s', k.name),
           format('ALTER %s %s OWNER TO %s', k.kind, k.name, recall_private.schema_owner()::regrole)
    FROM known k WHERE k.relowner <> recall_private.schema_owner()
    UNION ALL
    SELECT k.oid, format('%s has no row security', k.name), format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', k.name)
    FROM known k WHERE k.relkind IN ('r', 'p') AND NOT k.relrowsecurity
    UNION ALL
    SELECT k.oid, format('%s has the policy %s, which is not declared', k.name, a.policy),
           format('DROP POLICY %I ON %s', a.policy, k.name)
    FROM actual a JOIN known k ON k.oid = a.relation LEFT JOIN recall_private.declared_policies() d USING (relation, policy)
    WHERE NOT coalesce(a.plain AND a.command = d.command
                       AND replace(a.condition, 'recall.', '') = d.condition, false)
    UNION ALL
    SELECT k.oid, format('%s lacks the policy %s', k.name, d.policy),
           format('CREATE POLICY %I ON %s FOR %s USING %s', d.policy, k.name, d.command,
                  replace(d.condition, 'current_tenant()', 'recall.current_tenant()'))
    FROM recall_private.declared_policies() d JOIN known k ON k.oid = d.relation
    WHERE NOT EXISTS (
        SELECT FROM actual a WHERE a.relation = d.relation AND a.policy = d.policy AND a.plain
          AND a.command = d.command AND replace(a.condition, 'recall.', '') = d.condition)
    UNION ALL
    SELECT k.oid, format('%s may %s %s', coalesce(g.rolname, 'everybody'), lower(a.privilege_type), k.name),
           format('REVOKE ALL ON %s FROM %s', k.name, coalesce(quote_ident(g.rolname), 'PUBLIC'))
    FROM known k
    CROSS JOIN LATERAL (
        SELECT x.grantee, x.privilege_type FROM aclexplode(k.relacl) x
        UNION ALL
        SELECT x.grantee, x.privilege_type FROM pg_attribute t CROSS JOIN LATERAL aclexplode(t.attacl) x
        WHERE t.attrelid = k.oid) a
    LEFT JOIN pg_roles g ON g.oid = a.grantee
    WHERE (a.grantee = 0 OR a.grantee IN (SELECT r.role FROM recall_private.granted_roles() r))
      AND NOT (k.name = 'recall.health' AND a.privilege_type = 'SELECT' AND a.grantee <> 0)
    UNION ALL
    SELECT k.oid, format('%s may not read %s', r.name, k.name), format('GRANT SELECT ON %s TO %I', k.name, r.name)
    FROM known k JOIN recall_private.granted_roles() r ON r.role IS NOT NULL
    WHERE k.name = 'recall.health' AND NOT has_table_privilege(r.role, k.oid, 'SELECT')
$$;

-- schema_problems: roles that may or may not use the schemas, or may create in them, against the declaration; and default
-- rights by which everybody could call new functions.
CREATE OR REPLACE FUNCTION recall_private.schema_problems() RETURNS TABLE (problem text, fix text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT format('Role %s may not use the schema recall', r.name), format('GRANT USAGE ON SCHEMA recall TO %I', r.name)
    FROM recall_private.granted_roles() r
    WHERE r.role IS NOT NULL AND NOT has_schema_privilege(r.role, 'recall', 'USAGE')
    UNION ALL
    SELECT format('%s may %s in the schema %s', coalesce(g.rolname, 'Everybody'), lower(a.privilege_type), n.nspname),
           format('REVOKE ALL ON SCHEMA %s FROM %s', n.nspname, coalesce(quote_ident(g.rolname), 'PUBLIC'))
    FROM pg_namespace n
    CROSS JOIN LATERAL aclexplode(n.nspacl) a LEFT JOIN pg_roles g ON g.oid = a.grantee
    WHERE n.nspname IN ('recall', 'recall_private') AND a.grantee NOT IN (n.nspowner, recall_private.schema_owner())
      AND NOT (n.nspname = 'recall' AND a.privilege_type = 'USAGE' AND a.grantee <> 0)
    UNION ALL
    SELECT 'New functions of recall_owner are open to everybody',
           'ALTER DEFAULT PRIVILEGES FOR ROLE recall_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC'
    WHERE recall_private.schema_owner() = to_regrole('recall_owner') AND NOT EXISTS (
        SELECT FROM pg_default_acl d
        WHERE d.defaclrole = recall_private.schema_owner() AND d.defaclnamespace = 0 AND d.defaclobjtype = 'f'
          AND NOT EXISTS (SELECT FROM aclexplode(d.defaclacl) a WHERE a.grantee = 0))
$$;

-- access_problems (reader; Roles for administrators): every difference from the declaration: a sentence without its
-- full stop, the statement that repairs it, whether an upgrade repairs it (`ours`) or an administrator of the server
-- must, and whether it is `grave`.
CREATE OR REPLACE FUNCTION recall.access_problems()
RETURNS TABLE (problem text, fix text, ours boolean, grave boolean)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT f.problem, f.fix, false, f.grave FROM recall_private.role_problems() f
    UNION ALL SELECT f.problem, f.fix, true, true FROM recall_private.schema_problems() f
    UNION ALL SELECT f.problem, f.fix, true, true FROM recall_private.table_problems() f
    UNION ALL SELECT f.problem, f.fix, true, true FROM recall_private.function_problems() f
    UNION ALL
    SELECT format('recall.%s is declared and not there, or there more than once', d.name), 'pgrecall upgrade', false, true
    FROM recall_private.declared_functions() d
    WHERE (SELECT count(*) FROM pg_proc p
           WHERE p.proname = d.name AND p.pronamespace = 'recall'::regnamespace) <> 1
$$;
