"""Statements that an attacker tries, and views it reads."""

from __future__ import annotations

ON_TABLES = (
    "SELECT * FROM recall.{0}",
    "SELECT count(*) FROM recall.{0}",
    "DELETE FROM recall.{0}",
    "MERGE INTO recall.{0} USING (VALUES (1)) v(n) ON true WHEN MATCHED THEN DELETE",
    "INSERT INTO recall.{0} DEFAULT VALUES",
    "TRUNCATE recall.{0}",
    "COPY recall.{0} TO STDOUT",
    "EXPLAIN SELECT FROM recall.{0}",
    "SELECT FROM recall.{0} FOR UPDATE",
    "ALTER TABLE recall.{0} DISABLE ROW LEVEL SECURITY",
    "DROP TABLE recall.{0}",
    "ANALYZE recall.{0}",
    "CREATE POLICY mine ON recall.{0} USING (true)",
    "CREATE INDEX ON recall.{0} (tenant)",
    "CREATE TRIGGER mine AFTER INSERT ON recall.{0} EXECUTE FUNCTION suppress_redundant_updates_trigger()",
)
"""All that can be tried on a table."""

ON_SEQUENCES = (
    "SELECT nextval('recall.{0}')",
    "SELECT setval('recall.{0}', 1)",
    "SELECT * FROM recall.{0}",
)
"""And on a sequence."""

POWER = (
    "SET ROLE recall_owner",
    "SET ROLE recall_worker",
    "SET ROLE postgres",
    "SET LOCAL ROLE recall_owner",
    "SET SESSION AUTHORIZATION postgres",
    "SET SESSION AUTHORIZATION recall_owner",
    "SELECT set_config('role', 'recall_owner', false)",
    "SELECT set_config('session_authorization', 'postgres', false)",
    "ALTER ROLE CURRENT_USER BYPASSRLS",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "ALTER ROLE recall_owner LOGIN",
    "GRANT recall_owner TO CURRENT_USER",
    "GRANT recall_worker TO CURRENT_USER",
    "ALTER FUNCTION recall.tenants() OWNER TO CURRENT_USER",
    "ALTER FUNCTION recall.current_tenant() SECURITY INVOKER",
    "DROP FUNCTION recall.current_tenant()",
    "CREATE OR REPLACE FUNCTION recall.current_tenant() RETURNS text LANGUAGE sql RETURN 'globex'",
    "CREATE FUNCTION recall.mine() RETURNS int LANGUAGE sql RETURN 1",
    "CREATE TABLE recall.mine (n int)",
    "CREATE OPERATOR recall.= (LEFTARG = text, RIGHTARG = text, FUNCTION = textne)",
    "CREATE FUNCTION public.lower(text) RETURNS text LANGUAGE sql RETURN 'x'",
    "ALTER SCHEMA recall OWNER TO CURRENT_USER",
    "SELECT recall.bind_role(session_user::text, 'globex')",
    "SELECT recall.unbind_role(session_user::text)",
    "SELECT recall.role_bindings()",
    "SELECT recall_private.apply_declared_access()",
    "INSERT INTO recall.tenant_role VALUES ('*', session_user)",
    "ALTER SYSTEM SET session_preload_libraries = 'x'",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "SELECT pg_read_file('PG_VERSION')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT * FROM pg_authid",
    "SELECT * FROM pg_statistic",
    "LOAD 'auto_explain'",
    "ALTER TEXT SEARCH CONFIGURATION recall.english DROP MAPPING FOR word",
    "CREATE EXTENSION dblink",
    "ALTER DATABASE {database} SET recall.tenant = 'globex'",
    "REASSIGN OWNED BY recall_owner TO CURRENT_USER",
    "ALTER ROLE CURRENT_USER SET recall.tenant = 'globex'",
)
"""Every one of these is refused by Postgres, whoever asks."""

NAMING = (
    "SET recall.tenant = 'globex'",
    "SET SESSION recall.tenant = 'globex'",
    "RESET recall.tenant",
    "RESET ALL",
    "SELECT set_config('recall.tenant', 'globex', false)",
    "SET recall.tenant = '*'",
    "DISCARD ALL",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "SET ROLE NONE",
)
"""Allowed to anybody, and without effect on whose memories are meant."""

CATALOGUES = (
    "SELECT * FROM pg_stats WHERE schemaname = 'recall'",
    "SELECT * FROM pg_stats_ext WHERE schemaname = 'recall'",
    "SELECT query FROM pg_stat_activity",
    "SELECT prosrc FROM pg_proc WHERE pronamespace = 'recall'::regnamespace",
    "SELECT * FROM pg_db_role_setting",
    "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef",
    "SELECT * FROM pg_locks",
    "SELECT * FROM pg_description",
    "SELECT * FROM pg_policies",
    "SELECT * FROM pg_prepared_statements",
    "SELECT * FROM pg_stat_user_functions",
    "SELECT * FROM pg_cursors",
    "SELECT * FROM pg_stat_progress_copy",
)
"""Open to everybody; nothing that globex wrote may be in them."""

SHADOWED = (
    ("lower", "text", "text"),
    ("btrim", "text", "text"),
    ("length", "text", "int"),
    ("similarity", "text, text", "real"),
    ("current_tenant", "", "text"),
    ("plain", "text", "text"),
    ("same", "text, text", "boolean"),
    ("power", "bigint, double precision", "double precision"),
)
"""Functions of Postgres, of an extension and of ours: name, arguments, result."""

SHADOWS = (
    "CREATE TABLE shade.called (what text)",
    *(
        f"CREATE FUNCTION shade.{name}({given}) RETURNS {kind} LANGUAGE plpgsql AS "
        f"$$ BEGIN INSERT INTO shade.called VALUES ('{name}'); RETURN NULL; END $$"
        for name, given, kind in SHADOWED
    ),
    "CREATE OPERATOR shade.= (LEFTARG = text, RIGHTARG = text, FUNCTION = shade.same)",
    "CREATE OPERATOR shade.% (LEFTARG = text, RIGHTARG = text, FUNCTION = shade.same)",
    "CREATE OPERATOR shade.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = shade.same)",
    "CREATE TABLE shade.memory (tenant text, id bigint, body text)",
    "CREATE DOMAIN shade.tsquery AS text",
    "CREATE DOMAIN shade.halfvec AS text",
    "CREATE TEMP VIEW memory AS SELECT 'globex' AS tenant",
    "SET search_path = shade, pg_temp, pg_catalog, public",
)
"""Things of the same names, in a schema that comes first in the caller's path."""
