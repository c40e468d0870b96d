"""What the other tenant does while a copy of its memory waits: it decides, and nothing of its own changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.attack.test_sharing import share
from tests.waiting import blocked

pytestmark = pytest.mark.attack

HELD = "SELECT key, body, metadata, archived_at IS NOT NULL FROM recall.memory WHERE tenant = 'globex'"


@pytest.fixture
def globex(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """The tenant that lets acme copy memories into it."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'globex', false)")
        connection.execute("SELECT recall.add_reader('acme', p_may_share => true)")
        yield connection


def raced(globex: psycopg.Connection[Any], url: str, role: str, statement: str, *parameters: Any) -> str:
    """Of a copy that has waited for this statement, which waited for an earlier copy, if there is one."""
    with (
        psycopg.connect(make_conninfo(url, user=role)) as first,
        psycopg.connect(make_conninfo(url, user=role), autocommit=True) as second,
        ThreadPoolExecutor(2) as threads,
    ):
        first.execute('SELECT recall.share(\'globex\', \'{"id": 1, "body": "seen once more"}\')')
        told = threads.submit(globex.execute, statement.encode(), parameters)
        blocked(globex)
        waiting = threads.submit(share, second, body="seen last")
        blocked(globex, 2)
        first.commit()
        told.result()
        return waiting.result()


def test_a_copy_that_is_being_forgotten_is_not_brought_back(
    globex: psycopg.Connection[Any], database_url: str, own_logins: dict[str, str]
) -> None:
    with psycopg.connect(make_conninfo(database_url, user=own_logins["app"]), autocommit=True) as role:
        assert share(role) == "created"
    forget = "SELECT recall.forget(recall.id_of('acme#1'))"
    said = raced(globex, database_url, own_logins["app"], forget)
    assert said == "Tenant globex has forgotten its copy of this memory."
    [(_, body, _, archived)] = globex.execute(HELD).fetchall()
    assert (body, archived) == ("seen once more", True)


def test_what_is_being_added_to_a_copy_stays(
    globex: psycopg.Connection[Any], database_url: str, own_logins: dict[str, str]
) -> None:
    with psycopg.connect(make_conninfo(database_url, user=own_logins["app"]), autocommit=True) as role:
        assert share(role) == "created"
    origin = {"origin": {"tenant": "acme", "id": 1, "key": None}}
    changes = json.dumps({"metadata": {**origin, "checked": True}})
    edit = "SELECT recall.edit(recall.id_of('acme#1'), %s)"
    assert raced(globex, database_url, own_logins["app"], edit, changes) == "updated"
    [(_, body, metadata, _)] = globex.execute(HELD).fetchall()
    assert (body, metadata) == ("seen last", {**origin, "checked": True})


def test_a_memory_that_is_being_stored_is_not_overwritten(
    globex: psycopg.Connection[Any], database_url: str, own_logins: dict[str, str]
) -> None:
    with (
        psycopg.connect(make_conninfo(database_url, user=own_logins["app"]), autocommit=True) as role,
        ThreadPoolExecutor(1) as thread,
    ):
        with globex.transaction():
            globex.execute("SELECT recall.remember('Our own', p_key => 'acme#1')")
            waiting = thread.submit(share, role)
            blocked(globex)
        assert waiting.result() == "Tenant globex has a memory of its own with the key acme#1."
    assert globex.execute(HELD).fetchall() == [("acme#1", "Our own", {}, False)]


def test_a_copy_in_an_open_transaction_holds_no_memory_of_the_other_tenant(
    globex: psycopg.Connection[Any], database_url: str, own_logins: dict[str, str]
) -> None:
    """Not even one with a link that waits for its title, which stays as it is."""
    links = '[{"target": "Mira"}]'
    globex.execute("SELECT recall.remember('See Mira', p_key => 'note', p_links => %s)", (links,))
    with psycopg.connect(make_conninfo(database_url, user=own_logins["app"])) as role:
        for body in ("A copy", "A copy, changed"):
            assert share(role, title="Mira", body=body) in ("created", "updated")
            globex.execute("SET lock_timeout = '10ms'")
            globex.execute("SELECT recall.edit(recall.id_of('note'), '{\"context\": \"\"}')")
            role.commit()
    assert globex.execute("SELECT count(*) FROM recall.link").fetchall() == [(0,)]
    assert globex.execute("SELECT recall.resolve_pending_links()").fetchall() == [(1,)]
