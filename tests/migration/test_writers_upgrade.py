"""From an older revision while clients write: what is acknowledged is there, and the upgrade gets through.

The functions of then are gone, so the writers change the tables in the orders in which those functions did.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import psycopg
import pytest

from pgrecall import Memory
from pgrecall.schema import migrate
from pgrecall.settings import Settings
from tests.migration.catalogue import fetch
from tests.migration.old_schemas import fill, take_to
from tests.migration.test_every_revision import settled
from tests.migration.test_search_upgrade import ACTIVATION, MEMORY
from tests.waiting import PATIENCE, until

Write = Callable[[psycopg.Connection[tuple[int]], str], None]


def remembers(connection: psycopg.Connection[tuple[int]], key: str) -> None:
    values = ("acme", key, "knowledge", "", "Where is the tide table?", None, ["IT"])
    row = connection.execute(MEMORY.encode(), values).fetchone()
    assert row is not None
    connection.execute(ACTIVATION.encode(), ("acme", row[0]))
    connection.execute(
        "INSERT INTO recall.access (tenant, memory_id, kind, weight, at, recorded_at) "
        "SELECT 'acme', %s, 'write', 1, at, at FROM to_timestamp(1700000000) at",
        (row[0],),
    )


def edits(connection: psycopg.Connection[tuple[int]], key: str) -> None:
    connection.execute(
        "UPDATE recall.memory SET metadata = metadata || jsonb_build_object(%s::text, 1), body = body || '.' "
        "WHERE tenant = 'acme' AND key = 'note-1'",
        (key,),
    )


def uses(connection: psycopg.Connection[tuple[int]], key: str) -> None:
    connection.execute("SELECT FROM recall.memory WHERE tenant = 'acme' AND key = 'note-2' FOR NO KEY UPDATE")
    connection.execute(
        "INSERT INTO recall.access_key (tenant, idempotency_key, memory_id) VALUES ('acme', %s, 2)", (key,)
    )
    connection.execute("UPDATE recall.activation SET n = n WHERE tenant = 'acme' AND memory_id = 2")


def uses_backwards(connection: psycopg.Connection[tuple[int]], key: str) -> None:
    """The order in which a fold goes: a summary, then its memory."""
    connection.execute("UPDATE recall.activation SET n = n WHERE tenant = 'acme' AND memory_id = 4")
    connection.execute(
        "UPDATE recall.memory SET metadata = metadata || jsonb_build_object(%s::text, 1) "
        "WHERE tenant = 'acme' AND key = 'note-4'",
        (key,),
    )


THERE: dict[Write, str] = {
    remembers: "SELECT key FROM recall.memory WHERE key LIKE 'remembers-%'",
    edits: "SELECT jsonb_object_keys(metadata) FROM recall.memory WHERE key = 'note-1'",
    uses: "SELECT idempotency_key FROM recall.access_key",
    uses_backwards: "SELECT jsonb_object_keys(metadata) FROM recall.memory WHERE key = 'note-4'",
}
"""Each kind of writer, and where to look for what it wrote."""


class Writer(threading.Thread):
    """Writes in transactions of its own until it is told to stop, and notes what was acknowledged."""

    def __init__(self, url: str, write: Write, stop: threading.Event) -> None:
        super().__init__(name=write.__name__)
        self.url, self.write, self.stop = url, write, stop
        self.done: set[str] = set()
        self.failed: list[Exception] = []
        self.deadlocks = 0

    def run(self) -> None:
        number = 0
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
            while not self.stop.is_set():
                key = f"{self.name}-{(number := number + 1)}"
                try:
                    with connection.transaction():
                        self.write(connection, key)
                    self.done.add(key)
                except psycopg.errors.DeadlockDetected:  # clients repeat such calls
                    self.deadlocks += 1
                except psycopg.Error as error:
                    self.failed.append(error)
                    break


def wait_for_writes(writers: Iterable[Writer]) -> None:
    """Until each has written some more, or has failed."""
    enough = {writer: len(writer.done) + 3 for writer in writers}
    until(
        lambda: all(writer.failed or len(writer.done) > many for writer, many in enough.items()),
        "more writes",
    )


@pytest.mark.parametrize("revision", ["0026", "0037"])
def test_nothing_that_is_written_meanwhile_is_lost(empty_database: str, revision: str) -> None:
    take_to(empty_database, revision)
    fill(empty_database, revision)
    stop = threading.Event()
    writers = {write: Writer(empty_database, write, stop) for write in THERE}
    for writer in writers.values():
        writer.start()
    try:
        wait_for_writes(writers.values())
        assert migrate.upgrade(empty_database).after.revision == migrate.head_revision()
        wait_for_writes(writers.values())
    finally:
        stop.set()
        for writer in writers.values():
            writer.join(PATIENCE)

    for write, writer in writers.items():
        assert writer.failed == [], writer.name
        there = {key for (key,) in fetch(empty_database, THERE[write]) if key.startswith(f"{writer.name}-")}
        assert there == writer.done
    assert settled(empty_database) == []
    written = "SELECT DISTINCT speech_act, act_marked FROM recall.memory WHERE key LIKE 'remembers-%'"
    assert fetch(empty_database, written) == [("question", False)]
    with Memory(empty_database, settings=Settings(embedder="none", tenant="acme")) as memory:
        assert memory.search("tide table", k=1).hits
        assert memory.remember("The crane is mended.", key="crane").outcome == "created"
