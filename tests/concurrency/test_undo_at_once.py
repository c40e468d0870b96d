"""An import is undone while others write to its memories: each call is done, or refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg
from psycopg.types.json import Jsonb

from pgrecall import Draft, DraftLink, InvalidInput, Memory, RecallError
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.acceptance.http.http_tools import waiting
from tests.concurrency.test_races import sound
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.scale import SCALE, tell
from tests.waiting import PATIENCE, until

ROUNDS = 6 * SCALE
NOTES = 8
RELATIONS = ("supports", "part_of", "contradicts", "mentions")


def drafts(turn: int) -> list[Draft]:
    """Notes that link to each other; every import gives them other texts, and one is new."""
    notes = [
        Draft(f"Note {n}, text {turn}.", key=f"note {n}", links=[DraftLink(f"note {(n * 3 + turn) % NOTES}")])
        for n in range(NOTES)
    ]
    return [*notes, Draft(f"Only in {turn}.", key=f"only {turn}", links=[DraftLink("note 0")])]


def test_an_undo_beside_writers(database_url: str, query: Query) -> None:
    settings = Settings(database_url=database_url, tenant="acme", embedder="none", pool_size=8)
    with (
        Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory,
        ThreadPoolExecutor(6) as pool,
    ):
        memory.import_drafts(drafts(0), source="notes")
        refused: list[RecallError] = []
        for turn in range(1, ROUNDS + 1):
            memory.import_drafts(drafts(turn), source="notes")
            barrier = Barrier(6)

            def each(work: Callable[[], object], barrier: Barrier = barrier) -> None:
                barrier.wait(PATIENCE)
                try:
                    work()
                except RecallError as error:
                    refused.append(error)

            def reversed_links(turn: int = turn) -> None:
                for n in reversed(range(NOTES - 1)):
                    memory.link(f"note {n}", f"note {n + 1}", RELATIONS[turn % len(RELATIONS)])

            work: list[Callable[[], object]] = [
                lambda: memory.imports.undo(source="notes"),
                lambda turn=turn: memory.import_drafts(drafts(turn), source="notes"),  # type: ignore[misc]
                lambda turn=turn: memory.edit("note 3", body=f"By hand {turn}."),  # type: ignore[misc]
                lambda: [memory.record_access(f"note {n}", "used") for n in reversed(range(NOTES))],
                lambda: [memory.pin(f"note {n}") for n in reversed(range(NOTES))],
                reversed_links,
            ]
            for done in [pool.submit(each, one) for one in work]:
                done.result(PATIENCE)
            assert query("SELECT count(*) AS n FROM recall.memory WHERE key LIKE 'note %%'") == [{"n": NOTES}]
        for error in refused:
            assert isinstance(error, InvalidInput) or error.message.startswith(
                "Two calls waited for each other"
            )
        memory.imports.undo(source="notes")
    sound(query)
    tell(f"{ROUNDS} imports undone beside five writers, {len(refused)} calls refused")


def test_an_undo_waits_for_a_batch_of_its_import(database_url: str, query: Query) -> None:
    """Both take the import first, then its memories; in two orders, each could hold what the other needs."""
    settings = Settings(database_url=database_url, tenant="acme", embedder="none")
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        begun = memory.import_drafts(drafts(0), source="notes").import_id

    def call(sql: str, *values: object) -> None:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
            connection.execute(sql, values)

    batch = Jsonb([{"key": "note 3", "body": "Of the second batch."}])
    with psycopg.connect(database_url) as holder, ThreadPoolExecutor(2) as pool:
        holder.execute("SELECT FROM recall.memory WHERE key = 'note 3' FOR UPDATE")
        stored = pool.submit(call, "SELECT * FROM recall.store_imported('notes', %s, %s)", begun, batch)
        until(lambda: waiting(database_url) == 1, "the batch to wait")
        undone = pool.submit(call, "SELECT recall.undo_import(%s)", begun)
        until(lambda: waiting(database_url) == 2, "the undo to wait")
        holder.rollback()
        stored.result(PATIENCE)
        undone.result(PATIENCE)
    assert query("SELECT count(*) AS n FROM recall.memory WHERE archived_at IS NULL") == [{"n": 0}]
    sound(query)
