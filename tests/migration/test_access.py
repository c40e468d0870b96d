"""The catalogue: every object of schema recall has the owner, rights, policies and path declared for it.

``recall.access_problems`` compares with the declaration, so it is shown to see each kind of difference; what
the declaration must say is asserted of the catalogue itself.
"""

from __future__ import annotations

import pytest

from tests.databases import Query

WHOLE_DATABASE = {
    "begin_reembedding", "caller", "census", "close_page_session", "completed_query", "due_tenants",
    "find_grant", "has_active_key", "hit_explanation", "installation", "key_holder", "open_page_session",
    "page_session_tenant", "presets", "schema_state", "shortest_job_interval", "tenants",
}  # fmt: skip
"""Callable functions that ask for no tenant: what each tells to whom is tested in tests/attack. An
explanation and a completed query are computed from the arguments alone."""

FUNCTIONS = (
    "SELECT p.proname AS name, p.prosrc || coalesce(pg_get_function_sqlbody(p.oid), '') AS body, "
    "coalesce(p.proargnames, '{}') AS arguments, p.prosecdef AS definer, d.name IS NOT NULL AS callable "
    "FROM pg_proc p LEFT JOIN recall_private.declared_functions() d "
    "ON d.name = p.proname AND d.least_role <> 'recall_owner' "
    "WHERE p.pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace)"
)


def test_nothing_differs_from_the_declaration(sql: Query) -> None:
    assert sql("SELECT problem, fix FROM recall.access_problems()") == []


def test_everything_is_the_owners_and_the_owner_cannot_log_in(sql: Query) -> None:
    owners = sql(
        "SELECT DISTINCT r.rolname, r.rolcanlogin, r.rolsuper, r.rolbypassrls FROM pg_shdepend d "
        "JOIN pg_roles r ON r.oid = d.refobjid WHERE d.deptype = 'o' AND (d.classid, d.objid) IN ("
        "SELECT 'pg_class'::regclass, oid FROM pg_class WHERE relnamespace = 'recall'::regnamespace "
        "UNION ALL SELECT 'pg_proc'::regclass, oid FROM pg_proc "
        "WHERE pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace) "
        "UNION ALL SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typnamespace = 'recall'::regnamespace "
        "UNION ALL SELECT 'pg_ts_config'::regclass, oid FROM pg_ts_config "
        "WHERE cfgnamespace = 'recall'::regnamespace "
        "UNION ALL SELECT 'pg_ts_dict'::regclass, oid FROM pg_ts_dict "
        "WHERE dictnamespace = 'recall'::regnamespace "
        "UNION ALL SELECT 'pg_namespace'::regclass, oid FROM pg_namespace "
        "WHERE nspname IN ('recall', 'recall_private'))"
    )
    nobody = {"rolname": "recall_owner", "rolcanlogin": False, "rolsuper": False, "rolbypassrls": False}
    assert owners == [nobody]


def test_every_table_has_row_security_and_those_with_tenants_a_policy(sql: Query) -> None:
    tables = sql(
        "SELECT c.relname AS name, c.relrowsecurity AS secured, c.relforcerowsecurity AS forced, "
        "EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant') AS tenants, "
        "ARRAY(SELECT p.polname::text FROM pg_policy p WHERE p.polrelid = c.oid ORDER BY 1) AS policies "
        "FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p')"
    )
    assert len(tables) > 20
    for table in tables:
        # Not forced: the functions act as the owner, and under a policy no text index would be used.
        assert (table["secured"], table["forced"]) == (True, False), table["name"]
        closed = table["name"] in {
            "tenant_role",
            "api_key",
            "page_session",
            "oauth_grant",
            "reader",
            "resident",
            "alembic_version",
        }
        assert closed == (table["policies"] == []), table["name"]
        assert closed or table["tenants"], table["name"]


def test_no_other_role_can_touch_a_table_or_sequence(sql: Query) -> None:
    touchable = sql(
        "SELECT r.rolname, c.relname, privilege FROM pg_class c "
        "CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', "
        "'TRIGGER']) AS privilege "
        "JOIN pg_roles r ON r.rolname IN ('recall_reader', 'recall_app', 'recall_worker') "
        "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') "
        "AND has_table_privilege(r.oid, c.oid, privilege) AND (c.relname, privilege) <> ('health', 'SELECT') "
        "UNION ALL SELECT r.rolname, c.relname, 'USAGE' FROM pg_class c "
        "JOIN pg_roles r ON r.rolname IN ('recall_reader', 'recall_app', 'recall_worker') "
        "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind = 'S' "
        "AND has_sequence_privilege(r.oid, c.oid, 'USAGE, SELECT, UPDATE')"
    )
    assert touchable == []


def test_only_declared_functions_can_be_called_each_as_the_owner(sql: Query) -> None:
    wrong = sql(
        "SELECT p.proname FROM pg_proc p LEFT JOIN recall_private.declared_functions() d "
        "ON d.name = p.proname AND d.least_role <> 'recall_owner' "
        "WHERE p.pronamespace = 'recall'::regnamespace AND (p.prosecdef <> (d.name IS NOT NULL) "
        "OR has_function_privilege('recall_worker', p.oid, 'EXECUTE') <> (d.name IS NOT NULL))"
    )
    assert wrong == []


def test_a_callable_function_takes_its_tenant_from_the_session(sql: Query) -> None:
    """From ``current_tenant``, at however many removes, and never from an argument."""
    bodies = {row["name"]: row["body"] for row in sql(FUNCTIONS) if "p_tenant" not in row["arguments"]}
    asking = {"current_tenant"}
    while True:
        found = {name for name, body in bodies.items() if any(f".{other}(" in body for other in asking)}
        if found <= asking:
            break
        asking |= found
    callable_ones = {row["name"] for row in sql(FUNCTIONS) if row["callable"]}
    assert len(callable_ones) > 90
    assert callable_ones - asking == WHOLE_DATABASE


def test_lesser_roles_may_do_less(sql: Query) -> None:
    may = "SELECT has_function_privilege(%s, p.oid, 'EXECUTE') AS may FROM pg_proc p WHERE proname = %s"
    for role, function in (
        ("recall_reader", "search_and_log"),
        ("recall_reader", "remember"),
        ("recall_app", "tenants"),
        ("recall_worker", "bind_role"),
    ):
        assert sql(may, (role, function)) == [{"may": False}], (role, function)


BREAKAGES = {
    "ALTER TABLE recall.memory DISABLE ROW LEVEL SECURITY": "recall.memory has no row security",
    "DROP POLICY own ON recall.link": "recall.link lacks the policy own",
    "CREATE POLICY all_of_it ON recall.link USING (true)": "recall.link has the policy all_of_it",
    "ALTER POLICY own ON recall.link USING (true)": "recall.link has the policy own, which is not declared",
    "ALTER POLICY own ON recall.link TO recall_app": "recall.link has the policy own, which is not declared",
    "GRANT SELECT ON recall.lexeme TO recall_reader": "recall_reader may select recall.lexeme",
    "GRANT SELECT (body) ON recall.memory TO recall_app": "recall_app may select recall.memory",
    "GRANT USAGE ON SEQUENCE recall.access_id_seq TO PUBLIC": "everybody may usage recall.access_id_seq",
    "ALTER TABLE recall.setting OWNER TO postgres": "recall.setting is not the owner's",
    "CREATE TABLE recall.extra (tenant text)": "recall.extra has no row security",
    "CREATE FUNCTION recall.extra() RETURNS int RETURN 1": "recall.extra() may be called by everybody",
    "GRANT EXECUTE ON FUNCTION recall.bind_role TO recall_app": "may be called by recall_app",
    "ALTER FUNCTION recall_private.share_of_amount OWNER TO postgres": "is not the owner's",
    "GRANT EXECUTE ON FUNCTION recall.pin TO recall_app WITH GRANT OPTION": "may be called by recall_app",
    "REVOKE EXECUTE ON FUNCTION recall.pin FROM recall_app": "may not be called by recall_app",
    "ALTER FUNCTION recall.pin SECURITY INVOKER": "acts as its caller",
    "ALTER FUNCTION recall_private.share_of_amount SECURITY DEFINER": "acts as its owner",
    "ALTER FUNCTION recall.pin SET search_path = public": "by a search path that others can write to",
    "ALTER FUNCTION recall.pin RESET jit": "may be compiled at every call",
    "ALTER FUNCTION recall.pin RESET gin_fuzzy_search_limit": "may find only some of the words",
    "ALTER FUNCTION recall.pin RESET plan_cache_mode": "is planned for one tenant",
    "ALTER FUNCTION recall.pin RESET client_min_messages": "may tell its caller what the server logs",
    "GRANT CREATE ON SCHEMA recall TO recall_app": "recall_app may create in the schema recall",
    "GRANT USAGE ON SCHEMA recall TO PUBLIC": "Everybody may usage in the schema recall",
    "GRANT CREATE ON SCHEMA recall_private TO recall_app": "may create in the schema recall_private",
    "GRANT USAGE ON SCHEMA recall_private TO recall_reader": "may usage in the schema recall_private",
    "GRANT USAGE ON SCHEMA recall_private TO PUBLIC": "Everybody may usage in the schema recall_private",
    "REVOKE USAGE ON SCHEMA recall FROM recall_app": "Role recall_app may not use the schema recall",
    "ALTER DEFAULT PRIVILEGES FOR ROLE recall_owner GRANT EXECUTE ON FUNCTIONS TO PUBLIC":
        "New functions of recall_owner are open to everybody",
}  # fmt: skip


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_what_is_not_as_declared_is_seen_and_mended(sql: Query, breakage: str) -> None:
    sql(breakage)
    found = sql("SELECT problem FROM recall.access_problems() WHERE ours AND grave")
    assert any(BREAKAGES[breakage] in row["problem"] for row in found), found
    sql("SELECT recall_private.apply_declared_access()")
    left = [row["problem"] for row in sql("SELECT problem FROM recall.access_problems()")]
    assert [problem for problem in left if "recall.extra" not in problem] == []


@pytest.mark.parametrize(
    "breakage",
    [
        "GRANT CREATE ON SCHEMA public TO PUBLIC",
        "ALTER SCHEMA recall_private OWNER TO recall_app; "
        "GRANT USAGE ON SCHEMA recall_private TO recall_owner",
    ],
)
def test_problems_only_an_administrator_can_fix_are_reported(sql: Query, breakage: str) -> None:
    sql(breakage)
    [found] = sql("SELECT * FROM recall.access_problems()")
    assert (found["ours"], found["grave"]) == (False, True)
    sql(found["fix"])
    assert sql("SELECT * FROM recall.access_problems()") == []


def test_a_partition_that_is_made_is_protected_at_once(sql: Query) -> None:
    sql("SELECT recall.make_access_partitions('2031-05-01')")
    assert sql("SELECT problem FROM recall.access_problems()") == []
    [row] = sql("SELECT relrowsecurity AS on, relowner::regrole::text AS owner FROM pg_class "
                "WHERE relname = 'access_2031_07'")  # fmt: skip
    assert row == {"on": True, "owner": "recall_owner"}
