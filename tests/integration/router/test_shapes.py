"""Statements through the router: what is sent to a cell, and what is refused."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import psycopg
import pytest

from tests.integration.router.conftest import Router

SENT = (
    "SELECT id, body FROM recall_router.search(%s, 'winch')",
    "SELECT * FROM recall_router.search(p_query => 'winch', p_tenant => %s)",
    "SELECT s.body FROM recall_router.search(%s, 'winch', p_k => 3) AS s ORDER BY s.id LIMIT 1",
    "SELECT count(*) FROM recall_router.search(%s, 'winch')",
    "SELECT id FROM recall_router.list_memories(%s, p_now => '2026-06-01'::timestamp with time zone)",
    "SELECT recall_router.status(%s)",
    "SELECT recall_router.status(%s::varchar)",
    "select recall_router.id_of(%s, 'winch');",
    "SELECT id FROM recall_router.search(%s, 'it''s \"winch\" -- select $$ from /* values')",
)

ODD = (
    "SELECT DISTINCT id FROM {f}",
    "SELECT DISTINCT ON (layer) id FROM {f} ORDER BY layer, id",
    "SELECT id, count(*) OVER () FROM {f}",
    "SELECT layer, count(*) FROM {f} GROUP BY 1 HAVING count(*) > 0",
    "SELECT array_agg(id ORDER BY id) FILTER (WHERE id > 0) FROM {f}",
    "SELECT * FROM {f} FOR UPDATE",
    "SELECT a, b FROM {f} AS s(a, b)",
    "SELECT s FROM {f} s",
    "SELECT FROM {f}",
    "SELECT 1 FROM {f} LIMIT (1 + 1) OFFSET 0",
    "SELECT * FROM LATERAL {f}",
    "SELECT * FROM {f} TABLESAMPLE system (10)",
    "SELECT * FROM {f}, {f}",
    "SELECT * FROM {f} CROSS JOIN generate_series(1, 2)",
    "SELECT * FROM {f} NATURAL JOIN {f}",
    "SELECT recall_router.status('{0}') LIMIT 0",
    "SELECT recall_router.status('{0}') FROM {f}",
    "SELECT recall_router.status('{0}') FROM generate_series(1, 2)",
    "SELECT recall_router.status('{0}') WHERE true",
    "SELECT recall_router.status('{0}') GROUP BY 1",
    "SELECT CASE WHEN true THEN recall_router.status('{0}') END",
    "SELECT coalesce(recall_router.id_of('{0}', 'winch'), 1)",
    "SELECT unnest(ARRAY[recall_router.id_of('{0}', 'winch')])",
    "SELECT recall_router.id_of('{0}', recall_router.id_of('{0}', 'winch')::text)",
    "SELECT * FROM recall_router.search(recall_router.current_tenant('{0}'), 'winch')",
    "SELECT id FROM recall_router.search('{0}', (SELECT 'winch'))",
    "SELECT recall_router.status(('{0}'::text COLLATE \"C\"))",
    "SELECT recall_router.status('{0}'::name::text)",
    "SELECT recall_router.status(CASE WHEN random() < 2 THEN '{0}' END)",
    "SELECT recall_router.status(nullif('{0}', '{0}'))",
    "SELECT recall_router.status((ARRAY['{0}', NULL])[2])",
    "EXPLAIN SELECT * FROM {f}",
    "DECLARE c CURSOR FOR SELECT * FROM {f}",
    "COPY (SELECT * FROM {f}) TO STDOUT",
)
"""With a search as f. Some are sent, some are refused."""

REFUSED = (
    "SELECT * FROM recall_router.search('{0}', 'winch') WHERE id > 0",
    "SELECT (recall_router.search('{0}', 'winch')).id",
    "SELECT s.id FROM recall_router.search('{0}', 'winch') s, generate_series(1, 2)",
    "SELECT s.id FROM recall_router.search('{0}', 'winch') s JOIN pg_class c ON c.oid = s.id",
    "SELECT recall_router.status('{0}'), recall_router.status('{0}')",
    "SELECT recall_router.status('{0}') -> 'memories'",
    "SELECT recall_router.status(current_user::text)",
    "WITH s AS (SELECT * FROM recall_router.search('{0}', 'winch')) SELECT * FROM s",
    "SELECT (SELECT id FROM recall_router.search('{0}', 'winch') LIMIT 1)",
    "SELECT EXISTS (SELECT FROM recall_router.search('{0}', 'winch'))",
    "CREATE TABLE taken AS SELECT * FROM recall_router.search('{0}', 'winch')",
    "DO $$ BEGIN PERFORM recall_router.status('{0}'); END $$",
    "DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM recall_router.layers('{0}') LOOP END LOOP; END $$",
    "SELECT id FROM recall_router.search('{0}', E'winch\\n')",
    "SELECT id FROM recall_router.search('{0}', $$winch$$)",
    "SELECT id /* ' */ FROM recall_router.search('{0}', 'winch')",
)

CRASHES = (
    # On these the planner of Citus itself ends the server, and all sessions with it.
    "SELECT recall_router.status(NULL)",
    "SELECT * FROM recall_router.search(NULL, 'winch')",
    "SELECT * FROM (SELECT * FROM recall_router.search('{0}', 'winch')) s",
    "SELECT recall_router.status(t) FROM (VALUES ('{0}')) v(t)",
    "SELECT * FROM (VALUES ('{0}')) v(t), LATERAL recall_router.search(t, 'winch')",
    "SELECT recall_router.status(t) FROM (SELECT '{0}'::text) v(t)",
    "SELECT * FROM ROWS FROM (recall_router.search('{0}', 'winch')) s",
    "SELECT * FROM recall_router.search('{0}', 'winch') WITH ORDINALITY",
    "SELECT * FROM (TABLE pg_class) c, recall_router.search('{0}', 'winch')",
    "PREPARE one AS SELECT * FROM (SELECT * FROM recall_router.search('{0}', 'winch')) s; EXECUTE one",
)


@pytest.fixture(scope="module")
def acme(router: Router) -> str:
    tenant = router.place("shapes-acme", 1)
    with router.admin() as connection:
        connection.execute(
            "SELECT recall_router.remember(%s, 'The winch needs grease.', 'Winch', 'winch')", (tenant,)
        )
    return tenant


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("statement", SENT)
def test_one_function_is_sent_to_its_cell(router: Router, acme: str, statement: str, prepared: bool) -> None:
    with router.admin() as connection:
        for _ in range(7):  # beyond the sixth a plan could become generic
            with connection.transaction():
                rows = connection.execute(statement.encode(), (acme,), prepare=prepared).fetchall()
                assert len(rows) == 1
                assert rows[0][0] is not None
            assert connection.execute(statement.encode(), (acme,), prepare=prepared).fetchall() == rows or (
                "status" in statement
            )


@pytest.mark.parametrize("statement", [*REFUSED, *CRASHES])
def test_what_cannot_be_sent_is_refused(router: Router, acme: str, statement: str) -> None:
    with router.admin() as connection:
        begun = connection.execute("SELECT pg_postmaster_start_time()").fetchone()
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(statement.format(acme).encode())
        assert refused.value.sqlstate in ("0A000", "22023")
        assert (refused.value.diag.message_hint or "") != ""
        # The same session answers: nothing crashed.
        assert connection.execute("SELECT pg_postmaster_start_time()").fetchone() == begun
        assert ids(connection, acme)


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("statement", ODD)
def test_no_odd_statement_ends_the_server(router: Router, acme: str, statement: str, block: bool) -> None:
    text = statement.replace("{f}", "recall_router.search('{0}', 'winch')").format(acme)
    with router.admin() as connection:
        begun = connection.execute("SELECT pg_postmaster_start_time(), pg_backend_pid()").fetchone()
        try:
            with connection.transaction() if block else nullcontext():
                connection.execute(text.encode())
        except psycopg.Error as error:
            assert error.sqlstate is not None  # noqa: PT017 (without one the connection is lost)
        assert connection.execute("SELECT pg_postmaster_start_time(), pg_backend_pid()").fetchone() == begun


@pytest.mark.parametrize("prepared", [False, True])
def test_no_tenant_is_refused_as_a_parameter_too(router: Router, prepared: bool) -> None:
    with router.admin() as connection:
        for _ in range(7):
            with pytest.raises(psycopg.errors.InvalidParameterValue, match="The statement names no tenant"):
                connection.execute("SELECT recall_router.status(%s)", (None,), prepare=prepared)
            with (
                pytest.raises(psycopg.errors.InvalidParameterValue, match="The statement names no tenant"),
                connection.transaction(),
            ):
                connection.execute("SELECT recall_router.status(%s)", (None,), prepare=prepared)


def test_a_view_or_function_cannot_hide_a_call(router: Router, acme: str) -> None:
    with router.admin() as connection, connection.transaction(force_rollback=True):
        connection.execute(
            f"CREATE VIEW hidden AS SELECT * FROM recall_router.search('{acme}', 'winch')".encode()
        )
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("SELECT * FROM hidden")


def test_no_role_may_make_one(router: Router) -> None:
    with router.admin() as connection:
        connection.execute("CREATE ROLE maker LOGIN")
    try:
        with router.log_in("maker") as connection:
            for statement in (
                "CREATE VIEW v AS SELECT 1",
                "CREATE TEMP VIEW v AS SELECT 1",
                "CREATE SCHEMA s",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement.encode())
    finally:
        with router.admin() as connection:
            connection.execute("DROP ROLE maker")


def test_errors_come_through_with_their_hint(router: Router, acme: str) -> None:
    with router.admin() as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute("SELECT recall_router.pin(%s, 424242)", (acme,))
    assert "424242" in str(refused.value.diag.message_primary)


def test_a_call_for_a_tenant_without_a_cell_says_so(router: Router) -> None:
    with (
        router.admin() as connection,
        pytest.raises(psycopg.Error, match="knows no cell of tenant nobody") as refused,
    ):
        connection.execute("SELECT recall_router.status('nobody')")
    assert "place_tenant" in str(refused.value.diag.message_hint)


def ids(connection: psycopg.Connection[Any], tenant: str) -> list[Any]:
    return connection.execute("SELECT id FROM recall_router.search(%s, 'winch')", (tenant,)).fetchall()
