"""Upgrades that are broken off, at any statement and instant, leave what was there; the next completes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from pgrecall import DatabaseError, DatabaseUnavailable
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.schema.migrate import LockRetry
from tests.databases import new_database
from tests.migration.catalogue import catalogue, fetch
from tests.migration.old_schemas import fill, take_to
from tests.migration.test_every_revision import rows, settled
from tests.migration.upgrading import Upgrading
from tests.waiting import PATIENCE, until

OLD_FUNCTION = (
    "CREATE FUNCTION recall_private.zone_of(p_retention double precision) RETURNS text "
    "LANGUAGE sql RETURN 'old'"
)


@pytest.fixture(scope="module")
def filled(server: EmbeddedServer) -> Iterator[str]:
    """The name of a database at 0001, filled, with a function of then."""
    for url in new_database(server, "template1"):
        take_to(url, "0001")
        fill(url, "0001")
        fetch(url, OLD_FUNCTION)
        yield psycopg.conninfo.conninfo_to_dict(url)["dbname"]  # type: ignore[misc]


@pytest.fixture
def old(server: EmbeddedServer, filled: str) -> Iterator[str]:
    yield from new_database(server, filled)


def unharmed(url: str, before: object) -> None:
    """It is at 0001 as it was, and its functions work."""
    assert (catalogue(url), rows(url, "0001")) == before
    assert migrate.inspect(url).revision == "0001"
    assert fetch(url, "SELECT recall_private.zone_of(0.5)") == [("old",)]


def completes(url: str) -> None:
    assert migrate.upgrade(url).after.revision == migrate.head_revision()
    assert settled(url) == []


FAILING = (
    "CREATE FUNCTION public.fail() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF nextval('public.statements') = current_setting('test.fail_at')::int THEN "
    "RAISE 'broken here'; END IF; END $$; "
    "CREATE SEQUENCE public.statements; GRANT ALL ON SEQUENCE public.statements TO PUBLIC; "
    'ALTER DATABASE "{name}" SET test.fail_at = {place}; '
    "CREATE EVENT TRIGGER failing ON ddl_command_end EXECUTE FUNCTION public.fail()"
)


@pytest.mark.parametrize("place", [20, 35, 41, 66, 200, 900])
def test_a_statement_that_fails_takes_all_of_it_back(old: str, place: int) -> None:
    """Whichever it is: of the revisions, of the functions, of the rights."""
    before = (catalogue(old), rows(old, "0001"))
    name = psycopg.conninfo.conninfo_to_dict(old)["dbname"]
    fetch(old, FAILING.format(name=name, place=place))
    with pytest.raises(DatabaseError, match="broken here"):
        migrate.upgrade(old)
    fetch(old, "DROP EVENT TRIGGER failing; DROP FUNCTION public.fail; DROP SEQUENCE public.statements")
    unharmed(old, before)
    if place == 41:
        completes(old)


def backends(url: str) -> list[int]:
    """Who is connected to the database, ourselves left out."""
    found = fetch(
        url,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'",
    )
    return [pid for (pid,) in found]


def test_a_process_that_is_killed_leaves_what_was_there(old: str) -> None:
    """In the middle of 0004: what it did before is gone with it."""
    table = "recall.lexeme"
    before = (catalogue(old), rows(old, "0001"))
    upgrading = Upgrading(old)
    with psycopg.connect(old) as holder:
        holder.execute(f"LOCK TABLE {table} IN SHARE MODE")
        upgrading.begin()
        until(lambda: fetch(old, WAITING, (table,)), "a wait")
        upgrading.kill()
    until(lambda: backends(old) == [], "the end of all connections")
    unharmed(old, before)
    completes(old)


# The tables of clones of one template share their numbers, so a lock is looked for by its database too.
WAITING = (
    "SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE NOT granted AND relation = to_regclass(%s) AND datname = current_database()"
)


ONE_WAIT = LockRetry(wait=PATIENCE, attempts=1)
"""An upgrade that stays where it waits: one that gave up its place would come back in another process."""


def test_a_backend_that_is_ended_leaves_what_was_there(old: str) -> None:
    before = (catalogue(old), rows(old, "0001"))
    with ThreadPoolExecutor(1) as threads, psycopg.connect(old) as holder:
        holder.execute("LOCK TABLE recall.lexeme IN SHARE MODE")
        upgrade = threads.submit(migrate.upgrade, old, lock_retry=ONE_WAIT)
        [(pid,)] = until(lambda: fetch(old, WAITING, ("recall.lexeme",)), "a wait")
        fetch(old, "SELECT pg_terminate_backend(%s)", (pid,))
        holder.rollback()
        with pytest.raises(DatabaseUnavailable, match="terminating connection"):
            upgrade.result(PATIENCE)
    until(lambda: backends(old) == [], "the end of all connections")
    unharmed(old, before)
    completes(old)


def test_a_process_that_is_killed_at_any_instant_has_done_all_or_nothing(old: str) -> None:
    before = (catalogue(old), rows(old, "0001"))
    upgrading = Upgrading(old)
    upgrading.begin()
    time.sleep(instant := random.uniform(0.1, 1.5))
    print(f"killed after {instant} s")  # noqa: T201 - for the report of a failure
    upgrading.kill()
    until(lambda: backends(old) == [], "the end of all connections")
    if migrate.inspect(old).revision == "0001":
        unharmed(old, before)
    completes(old)


def test_two_processes_upgrade_at_once(old: str) -> None:
    both = [Upgrading(old), Upgrading(old)]
    for each in both:
        each.begin()
    assert sorted(each.said() for each in both) == ["False\n", "True\n"]
    assert settled(old) == []
    assert fetch(old, "SELECT * FROM recall.access_problems()") == []
