"""Ways past the functions: tables, internals, roles, settings, shadows, catalogues, what others do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors

from tests.attack.ways import CATALOGUES, NAMING, ON_SEQUENCES, ON_TABLES, POWER, SHADOWS
from tests.attack.world import GUESSED, KEY, NOW, UNKNOWN, World

RELATIONS = (
    "SELECT c.relname, c.relkind::text FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace "
    "AND c.relkind IN ('r', 'p', 'S') ORDER BY 1"
)

pytestmark = pytest.mark.attack


@pytest.fixture(params=["reader", "app", "worker"])
def attacker(
    request: pytest.FixtureRequest, with_globex: World, logins: dict[str, str]
) -> Iterator[psycopg.Connection[Any]]:
    with with_globex.log_in(logins[request.param]) as connection:
        yield connection


def refused(connection: psycopg.Connection[Any], statement: str) -> psycopg.Error:
    """The error that a statement ends with; the test fails where it does not."""
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(statement.encode())
    assert UNKNOWN not in str(caught.value)
    return caught.value


def test_no_table_and_no_sequence_can_be_touched(
    attacker: psycopg.Connection[Any], with_globex: World, tried: Counter[str]
) -> None:
    before = with_globex.digest()
    for name, kind in with_globex.admin.execute(RELATIONS).fetchall():
        for statement in ON_SEQUENCES if kind == "S" else ON_TABLES:
            if statement.startswith("ANALYZE"):  # a warning and nothing more
                attacker.execute(statement.format(name).encode())
            else:
                error = refused(attacker, statement.format(name))
                assert isinstance(error, errors.InsufficientPrivilege), (statement, name, error)
            tried["tables and sequences"] += 1
    assert with_globex.digest() == before


def test_no_internal_function_can_be_called(
    attacker: psycopg.Connection[Any], with_globex: World, tried: Counter[str]
) -> None:
    internal = with_globex.admin.execute(
        "SELECT format('%s.%I(%s)', p.pronamespace::regnamespace, p.proname, ("
        "SELECT string_agg('NULL::' || format_type(t, NULL), ', ') FROM unnest(p.proargtypes) t)) "
        "FROM pg_proc p WHERE p.pronamespace IN ('recall'::regnamespace, 'recall_private'::regnamespace) "
        "AND p.prokind = 'f' AND NOT p.proisstrict AND p.prorettype <> 'trigger'::regtype "
        "AND (p.pronamespace <> 'recall'::regnamespace OR p.proname NOT IN ("
        "SELECT d.name FROM recall_private.declared_functions() d WHERE d.least_role <> 'recall_owner'))"
    ).fetchall()
    assert len(internal) > 100
    for (call,) in internal:
        assert isinstance(refused(attacker, f"SELECT {call}"), errors.InsufficientPrivilege), call
        tried["internal functions"] += 1


def test_no_power_can_be_taken(
    attacker: psycopg.Connection[Any], with_globex: World, tried: Counter[str]
) -> None:
    before = with_globex.digest()
    database = attacker.info.dbname
    role = attacker.info.user
    for statement in POWER:
        if statement == "SET ROLE recall_worker" and role.startswith("worker"):
            continue
        refused(attacker, statement.format(database=database))
        tried["power"] += 1
    assert with_globex.digest() == before


def test_a_bound_role_cannot_change_its_tenant(
    attacker: psycopg.Connection[Any], tried: Counter[str]
) -> None:
    for statement in NAMING:
        attacker.execute(statement.encode())
        assert attacker.execute("SELECT recall.current_tenant()").fetchone() == ("acme",), statement
        assert attacker.execute("SELECT tenant FROM recall.caller()").fetchone() == ("acme",)
        assert (
            attacker.execute("SELECT * FROM recall.search(%s, p_now => %s)", (UNKNOWN, NOW)).fetchall() == []
        )
        tried["naming a tenant"] += 1


def test_by_options_of_the_connection_neither(
    with_globex: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    options = "-c recall.tenant=globex -c search_path=pg_temp -c row_security=off"
    with with_globex.log_in(logins["app"], options=options) as connection:
        assert connection.execute("SELECT recall.current_tenant()").fetchone() == ("acme",)
    with pytest.raises(psycopg.OperationalError, match="permission denied to set role"):
        with_globex.log_in(logins["app"], options="-c role=recall_owner")
    tried["naming a tenant"] += 2


def test_an_unbound_role_has_no_tenant(
    with_globex: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    with with_globex.log_in(logins["unbound"], options="-c recall.tenant=globex") as connection:
        for call in ("status()", f"search('{GUESSED}')", f"id_of('{KEY}')", "begin_job('verify', true)",
                     "make_access_partitions()", "begin_reembedding('x', 64)",
                     "tenants()", "census()"):  # fmt: skip
            error = refused(connection, f"SELECT recall.{call}")
            assert isinstance(error, errors.InsufficientPrivilege), call
            tried["no binding"] += 1
        for call in ("due_tenants('verify', true)", "key_holder(decode(repeat('00', 32), 'hex'))"):
            assert connection.execute(f"SELECT recall.{call}".encode()).fetchall() == [], call
            tried["no binding"] += 1
        assert connection.execute("SELECT recall.has_active_key()").fetchone() == (False,)


def test_a_bound_worker_does_nothing_of_the_whole_database(
    with_globex: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    with with_globex.log_in(logins["worker"]) as connection:
        for call in (
            "begin_job('partitions', true)",
            "end_job(1, 'failed', 0, '{}', 'x', true)",
            "report_job(1, 0, '{}', true)",
            "make_access_partitions()",
            "begin_reembedding('x', 64)",
        ):
            assert isinstance(refused(connection, f"SELECT recall.{call}"), errors.InsufficientPrivilege), (
                call
            )
            tried["the whole database"] += 1
        assert connection.execute("SELECT recall.tenants()").fetchall() == [("acme",)]


def test_a_table_that_is_granted_shows_ones_own_rows(
    with_globex: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    """The second line: row security, against a function that tells what it is given and costs nothing."""
    heard: list[str] = []
    role, admin, ids = logins["app"], with_globex.admin, with_globex.ids
    before = with_globex.digest()
    admin.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA recall TO {role}".encode())
    admin.execute(f"CREATE SCHEMA evil; GRANT ALL ON SCHEMA evil TO {role}".encode())
    with with_globex.log_in(role) as connection:
        connection.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
        connection.execute(
            "CREATE FUNCTION evil.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS "
            "$$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"
        )
        for table, in admin.execute("SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') "
                                    "AND relnamespace = 'recall'::regnamespace").fetchall():  # fmt: skip
            rows = connection.execute(
                f"SELECT t::text FROM recall.{table} t WHERE evil.tell(t::text)".encode()
            )
            shown = str(rows.fetchall()) + " ".join(heard)
            assert GUESSED not in shown, table
            assert "globex" not in shown, table
            tried["granted tables"] += 1
        for statement in (
            "UPDATE recall.memory SET tenant = 'globex'",
            "INSERT INTO recall.lexeme VALUES ('globex', 'planted', 1)",
            f"INSERT INTO recall.link VALUES ('globex', {ids['memory']}, {ids['other']})",
            "INSERT INTO recall.setting VALUES ('*', 'planted', '1')",
            "INSERT INTO recall.tenant_role VALUES ('globex', session_user)",
            "UPDATE recall.memory SET superseded_by = " + str(ids["memory"]),
        ):
            refused(connection, statement)
            tried["granted tables"] += 1
        for statement in (
            "DELETE FROM recall.lexeme",
            "UPDATE recall.job_run SET error = 'x' WHERE tenant = '*'",
        ):
            connection.execute(statement.encode())
            tried["granted tables"] += 1
    admin.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA recall FROM {role}; DROP SCHEMA evil CASCADE".encode())
    assert with_globex.digest() == before


def test_shadows_are_never_called(with_globex: World, logins: dict[str, str], tried: Counter[str]) -> None:
    """Functions, operators, types and tables of the same names, in a schema that comes first."""
    admin, role = with_globex.admin, logins["app"]
    admin.execute(f"CREATE SCHEMA shade; GRANT ALL ON SCHEMA shade TO {role}".encode())
    with with_globex.log_in(role) as connection:
        for statement in SHADOWS:
            connection.execute(statement.encode())
        for call in (
            f"search('{GUESSED} contract', p_now => '{NOW}')",
            "remember('seen from the shade')",
            f"get({with_globex.ids['memory']})",
            "status()",
            "verify()",
            "plan_prune()",
            "settings()",
            "queries_without_names('{Mira of the harbour}')",
            "refresh_statistics()",
        ):
            rows = connection.execute(f"SELECT * FROM recall.{call}".encode()).fetchall()
            assert UNKNOWN not in str(rows)
            tried["shadows"] += 1
        assert connection.execute("SELECT * FROM shade.called").fetchall() == []
    admin.execute("DROP SCHEMA shade CASCADE")


def test_catalogues_and_views_hold_nothing_that_was_stored(
    attacker: psycopg.Connection[Any], with_globex: World, tried: Counter[str]
) -> None:
    with psycopg.connect(with_globex.url) as busy:  # globex at work at this moment
        busy.execute("SELECT set_config('recall.tenant', 'globex', true)")
        busy.execute(f"SELECT recall.remember('{UNKNOWN} at work')".encode())
        for statement in CATALOGUES:
            shown = str(attacker.execute(statement.encode()).fetchall())
            assert UNKNOWN not in shown, statement
            assert GUESSED not in shown, statement
            tried["catalogues"] += 1
        busy.rollback()
