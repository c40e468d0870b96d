"""A tenant that is shared with the attacker's: it may be read, and nothing else.

``globex`` lets ``acme`` read it. Every function is attacked in transactions that read globex, and by all ways
to turn such a transaction into one that writes.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import psycopg
import pytest

from tests.attack.calls import attacks_on, functions_of
from tests.attack.world import KEY, NOW, UNKNOWN, World

pytestmark = pytest.mark.attack

READ_GLOBEX = "SELECT set_config('recall.shared_tenant', 'globex', true)"
REMEMBER = f"SELECT recall.remember('mine now', p_key => '{KEY}', p_now => '{NOW}')"
ATTACKS = 6
"""On each function: the plain call first, then hostile values."""

OF_NO_TENANT = {
    "access_problems", "begin_reembedding", "caller", "census", "close_page_session", "completed_query",
    "due_tenants", "find_grant", "has_active_key", "hit_explanation", "installation", "key_holder",
    "make_access_partitions", "open_page_session", "page_session_tenant", "presets", "run_due_job",
    "schema_state", "shortest_job_interval", "stale_summaries", "tenants",
}  # fmt: skip
"""These ask for no tenant, find it by a secret, or read nothing in this world."""

WAYS_OUT = (
    "SET TRANSACTION READ WRITE",
    "SET LOCAL transaction_read_only = off",
    "SELECT set_config('transaction_read_only', 'off', true)",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "SAVEPOINT inner_one; SET TRANSACTION READ WRITE",
    "SET LOCAL recall.shared_tenant = ''; SET LOCAL recall.tenant = 'globex'",
    "SET LOCAL recall.shared_tenant = '*'",
    "SET LOCAL recall.shared_tenant = 'acme'; SET LOCAL recall.tenant = 'globex'",
    "SET LOCAL ROLE recall_owner",
    "RESET recall.shared_tenant; SET recall.tenant = 'globex'",
)

LOOSE = (
    "CREATE FUNCTION pg_temp.write_after() RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN "
    "PERFORM set_config('transaction_read_only', 'on', true), recall.current_tenant(); END; "
    f"{REMEMBER.replace('SELECT', 'PERFORM')}; RETURN 'written'; END $$",
    "CREATE FUNCTION pg_temp.undone() RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN "
    "PERFORM set_config('transaction_read_only', 'on', true), recall.current_tenant(); "
    "RAISE EXCEPTION 'undo'; EXCEPTION WHEN raise_exception THEN NULL; END; "
    f"{REMEMBER.replace('SELECT', 'PERFORM')}; RETURN 'written'; END $$",
)
"""Functions of the attacker's that read globex in a part of a transaction, and write after it."""


@pytest.fixture(scope="module")
def shared(with_globex: World, logins: dict[str, str]) -> World:
    """The world in which globex is shared with acme."""
    share(with_globex, True)
    assert logins
    return with_globex


def share(world: World, on: bool) -> None:
    call = "SELECT recall.add_reader('acme')" if on else "SELECT recall.remove_reader('acme')"
    with world.admin.transaction():
        world.admin.execute("SELECT set_config('recall.tenant', 'globex', true)")
        world.admin.execute(call.encode())


def answer(connection: psycopg.Connection[Any], *statements: str, begin: str = "BEGIN READ ONLY") -> str:
    """What the last of these statements says in a transaction that reads globex, which is committed."""
    connection.execute(begin.encode())
    try:
        connection.execute(READ_GLOBEX)
        said = ""
        for statement in statements:
            cursor = connection.execute(statement.encode())
            said = repr(cursor.fetchall()) if cursor.description else "done"
        connection.execute("COMMIT")
    except psycopg.Error as error:
        said = f"{error.sqlstate} {error.diag.message_primary}"
        connection.execute("ROLLBACK")
    return said


@pytest.mark.parametrize("right", ["reader", "app", "worker"])
def test_what_is_shared_can_be_read(right: str, shared: World, logins: dict[str, str]) -> None:
    """Else nothing in this file would show anything."""
    with shared.log_in(logins[right]) as role:
        assert answer(role, "SELECT recall.current_tenant()") == "[('globex',)]"
        assert UNKNOWN in answer(role, "SELECT body FROM recall.search('contract')")
        assert answer(role, f"SELECT recall.id_of('{KEY}')") == f"[({shared.ids['memory']},)]"
        # The own tenant again, in the next transaction of the same session.
        assert role.execute("SELECT recall.current_tenant()").fetchall() == [("acme",)]


@pytest.mark.parametrize("right", ["reader", "app", "worker"])
@pytest.mark.parametrize("begin", ["BEGIN READ ONLY", "BEGIN READ WRITE"])
def test_no_function_changes_anything_of_a_shared_tenant(
    right: str, begin: str, shared: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    before = shared.digest()
    told: dict[str, set[str]] = {}
    with shared.log_in(logins[right]) as role:
        for function in functions_of(shared.admin):
            for attack in islice(attacks_on(function, shared.ids, shared.ids), ATTACKS):
                tried["shared"] += 1
                role.execute(begin.encode())
                try:
                    role.execute(READ_GLOBEX)
                    role.execute(attack.sql.encode(), attack.parameters)
                    said = "answered"
                except psycopg.Error as error:
                    said = str(error.sqlstate)
                role.execute("COMMIT" if said == "answered" else "ROLLBACK")
                told.setdefault(function.name, set()).add(said)
        assert shared.digest() == before
    if begin == "BEGIN READ WRITE":  # one sentence for all, which comes before anything is done
        answering = {name for name, said in told.items() if "answered" in said}
        assert answering <= OF_NO_TENANT
    else:
        assert told["search"] >= {"answered"}


@pytest.mark.parametrize("call", ["grants", "keys", "readers"])
def test_a_reader_does_not_learn_who_else_reads(call: str, shared: World, logins: dict[str, str]) -> None:
    with shared.log_in(logins["app"]) as role:
        said = answer(role, f"SELECT * FROM recall.{call}()")
    assert said == "42501 A reader of tenant globex may not see its keys and readers."


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("first", ["SELECT recall.current_tenant()", "SELECT 1"])
def test_no_transaction_that_reads_it_comes_to_write(
    way: str, first: str, shared: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    before = shared.digest()
    for right in ("app", "worker"):
        with shared.log_in(logins[right]) as role:
            for begin in ("BEGIN READ ONLY", "BEGIN READ WRITE", "BEGIN ISOLATION LEVEL REPEATABLE READ"):
                tried["shared"] += 1
                answer(role, first, *way.split("; "), REMEMBER, begin=begin)
                answer(role, *way.split("; "), "SAVEPOINT s", READ_GLOBEX, REMEMBER, begin=begin)
    assert shared.digest() == before


@pytest.mark.parametrize("made", LOOSE)
def test_no_function_of_the_attackers_writes_after_it_has_read(
    made: str, shared: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    before = shared.digest()
    name = made.split()[2]
    with shared.log_in(logins["app"]) as role:
        role.execute(made.encode())
        for statement in (f"SELECT {name}, recall.remember('mine', p_key => '{KEY}')",
                          f"SELECT {name}", f"WITH r AS MATERIALIZED (SELECT {name}) "
                          f"SELECT r.*, recall.forget({shared.ids['memory']}) FROM r"):  # fmt: skip
            tried["shared"] += 1
            for begin in ("BEGIN READ ONLY", "BEGIN READ WRITE"):
                answer(role, statement, begin=begin)
    assert shared.digest() == before


def test_a_cursor_that_began_in_another_tenant_does_not_write(shared: World, logins: dict[str, str]) -> None:
    before = shared.digest()
    with shared.log_in(logins["app"]) as role:
        role.execute("BEGIN")
        role.execute(
            "DECLARE slow CURSOR FOR SELECT recall.remember('mine ' || n) FROM generate_series(1, 3) n"
        )
        role.execute("FETCH 1 FROM slow")
        role.execute(READ_GLOBEX)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="for reading only"):
            role.execute("FETCH 1 FROM slow")
        role.execute("ROLLBACK")
    assert shared.digest() == before


def test_what_is_not_shared_any_more_is_refused_in_the_same_session(
    shared: World, logins: dict[str, str]
) -> None:
    ask = "SELECT count(*) FROM recall.search('contract')"
    refused = "Tenant globex is not shared with tenant acme"
    with shared.log_in(logins["app"]) as role:
        assert answer(role, ask) != "[(0,)]"
        try:
            role.execute("BEGIN READ ONLY")
            role.execute(READ_GLOBEX)
            role.execute(ask)
            role.execute(f"DECLARE later CURSOR FOR {ask}")
            share(shared, False)
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match=refused):
                role.execute(ask)
            role.execute("ROLLBACK")
            assert refused in answer(role, ask)
        finally:
            share(shared, True)
        assert answer(role, ask) != "[(0,)]"


@pytest.mark.parametrize("name", ["initech", "*", "acme", "harbour-friend", "", "\x01globex"])
def test_a_reader_gives_itself_nothing(name: str, shared: World, logins: dict[str, str]) -> None:
    """``initech`` is not shared; neither is a tenant that acme lets read."""
    before = shared.digest()
    with shared.log_in(logins["app"]) as role:
        for statement in ("SELECT recall.add_reader('acme')", "SELECT recall.add_reader('initech')",
                          "SELECT recall.remove_reader('acme')",
                          "INSERT INTO recall.reader VALUES ('initech', 'acme', now())",
                          "UPDATE recall.reader SET reader = 'acme'"):  # fmt: skip
            for setting in ("shared_tenant", "tenant"):
                role.execute("BEGIN")
                try:
                    role.execute(f"SELECT set_config('recall.{setting}', %s, true)", (name,))
                    role.execute(statement.encode())
                    role.execute("COMMIT")
                except psycopg.Error:
                    role.execute("ROLLBACK")
        if name not in ("", "acme"):
            role.execute("BEGIN READ ONLY")
            role.execute("SELECT set_config('recall.shared_tenant', %s, true)", (name,))
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="is not shared with tenant acme"):
                role.execute("SELECT recall.current_tenant()")
            role.execute("ROLLBACK")
    assert shared.digest() == before


def test_other_roles_and_tenants_read_nothing_of_it(shared: World, logins: dict[str, str]) -> None:
    with shared.log_in(logins["unbound"]) as role:
        assert "is bound to no tenant" in answer(role, "SELECT recall.current_tenant()")
    with shared.log_in(logins["service"]) as role:
        assert "No tenant is set" in answer(role, "SELECT recall.current_tenant()")
        named = "SELECT set_config('recall.tenant', '{}', true)"
        assert answer(role, named.format("acme"), "SELECT recall.current_tenant()") == "[('globex',)]"
        said = answer(role, named.format("initech"), "SELECT recall.current_tenant()")
        assert said == "42501 Tenant globex is not shared with tenant initech."


def test_whether_a_tenant_exists_that_is_not_shared_makes_no_difference(
    with_globex: World, without_globex: World, logins: dict[str, str]
) -> None:
    share(with_globex, False)
    told = []
    try:
        for world in (with_globex, without_globex):
            with world.log_in(logins["reader"]) as role:
                told.append([answer(role, f"SELECT * FROM recall.{call}") for call in (
                    "search('contract')", "current_tenant()", "settings()", f"id_of('{KEY}')")])  # fmt: skip
    finally:
        share(with_globex, True)
    assert told[0] == told[1]
    assert all("is not shared" in said for said in told[0])
