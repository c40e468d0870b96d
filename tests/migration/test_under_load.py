"""Upgrades while clients of the release before go on calling: each call is done whole or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psycopg
import pytest

from pgrecall import DatabaseError, Memory, SchemaMismatch
from pgrecall.schema import migrate
from pgrecall.schema.migrate import LockRetry
from pgrecall.settings import Settings
from tests.migration.catalogue import STALE, catalogue, fetch
from tests.waiting import PATIENCE


def test_an_upgrade_does_not_queue_everybody_behind_one_transaction(database_url: str) -> None:
    """It gives up its place, so that others get through, and says who was in the way."""
    with psycopg.connect(database_url) as first, Memory(database_url, settings=_none()) as client:
        fetch(database_url, STALE)
        before = catalogue(database_url)
        first.execute("SELECT set_config('recall.tenant', 'acme', true), recall.remember('not yet')")
        pid = first.info.backend_pid
        stored: list[bool] = []
        others = threading.Thread(
            target=lambda: [stored.append(bool(client.remember("between"))) for _ in "abc"]
        )
        refused: list[DatabaseError] = []

        def upgrade() -> None:
            try:
                migrate.upgrade(database_url, lock_retry=LockRetry(wait=0.3, attempts=3, pause=0.2))
            except DatabaseError as error:
                refused.append(error)

        upgrading = threading.Thread(target=upgrade)
        upgrading.start()
        others.start()
        upgrading.join(PATIENCE)
        others.join(PATIENCE)
        assert stored == [True] * 3
        [error] = refused
        assert error.message == (
            "The upgrade waited 3 times 0.3 s for tables that others hold, and gave up; nothing was changed."
        )
        assert f"A transaction of role postgres (process {pid}), open since " in error.hint
        assert error.hint.endswith(": end it, or upgrade when it has ended.")
        assert catalogue(database_url) == before
        first.commit()
    assert migrate.upgrade(database_url).changed


def _none() -> Settings:
    return Settings(embedder="none", tenant="acme")


RENAMED = {
    "remember_many": "parse_drafts",
    "record_accesses": "check_accesses",
    "search_and_log": "log_search",
}
"""Functions that clients call, and what each of them calls by another name in the release before."""


def make_old(url: str) -> None:
    """A release whose functions call some that this one does not have."""
    definition = "SELECT pg_get_functiondef(to_regproc(%s))"
    for outer, inner in RENAMED.items():
        [(called,)] = fetch(url, definition, (f"recall_private.{inner}",))
        [(calling,)] = fetch(url, definition, (f"recall.{outer}",))
        assert f"recall_private.{inner}(" in calling
        fetch(url, called.replace(f"recall_private.{inner}", f"recall_private.{inner}_of_old"))
        fetch(url, calling.replace(f"recall_private.{inner}(", f"recall_private.{inner}_of_old("))
    fetch(url, STALE)


class Client(threading.Thread):
    """Calls until it is told to stop, and notes what came of each call."""

    def __init__(self, call: Callable[[str], object], name: str, stop: threading.Event) -> None:
        super().__init__(name=name)
        self.call, self.stop = call, stop
        self.done: set[str] = set()
        self.refused: dict[str, Exception] = {}

    def run(self) -> None:
        number = 0
        while not self.stop.is_set() or number < 5:
            number += 1
            try:
                self.call(key := f"{self.name}-{number}")
                self.done.add(key)
            except Exception as error:  # noqa: BLE001 - every one is looked at
                self.refused[key] = error


def test_no_call_is_lost_or_half_done_during_an_upgrade(database_url: str) -> None:
    """It is done, or refused with a sentence: where it had begun by old functions when the new ones came."""
    with Memory(database_url, settings=_none()) as memory:
        memory.remember("The harbour", key="harbour")
        calls: dict[str, Callable[[str], object]] = {
            "store": lambda key: memory.remember(f"The contract {key}", key=key),
            "use": lambda key: memory.record_access("harbour", "used", idempotency_key=key),
            "search": lambda key: memory.search(f"harbour contract {key}"),
        }
        stop = threading.Event()
        clients = {name: Client(call, name, stop) for name, call in calls.items()}
        for client in clients.values():
            client.start()
        for _ in range(3):
            make_old(database_url)
            assert migrate.upgrade(database_url).changed
        stop.set()
        for client in clients.values():
            client.join(PATIENCE)

        for name, sql in THERE.items():
            assert {key for (key,) in fetch(database_url, sql)} == clients[name].done, name
        refused = [error for client in clients.values() for error in client.refused.values()]
        assert [error for error in refused if not isinstance(error, SchemaMismatch)] == []
        assert {error.message for error in refused if isinstance(error, SchemaMismatch)} <= {REPLACED}
        memory.maintenance.fold()
        assert [check.name for check in memory.maintenance.verify() if check.problems] == []
        assert memory.maintenance.rebuild() == 0


REPLACED = "An upgrade replaced the functions of this database during the call; nothing was changed."

THERE = {
    "store": "SELECT key FROM recall.memory WHERE key <> 'harbour'",
    "use": "SELECT idempotency_key FROM recall.access_key",
    "search": "SELECT substring(query FROM 'search-.*') FROM recall.search_log",
}
"""What each kind of call leaves behind, once."""


def test_refused_calls_are_reported_in_one_sentence(database_url: str) -> None:
    """What Postgres says where a function is gone that another, which runs, comes to call."""
    with Memory(database_url, settings=_none()) as memory:
        make_old(database_url)
        fetch(database_url, "DROP FUNCTION recall_private.parse_drafts_of_old")
        with pytest.raises(SchemaMismatch) as caught:
            memory.remember("The contract")
        assert caught.value.message == REPLACED
        migrate.upgrade(database_url)
        assert memory.remember("The contract").outcome == "created"
