"""The jobs that embed: rows from plain SQL, texts that change meanwhile, embedders that fail, a new model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest

from pgrecall import EmbedderError, Memory
from pgrecall.database.pool import Database
from pgrecall.jobs.catalogue import job_named
from pgrecall.jobs.runner import Runner
from pgrecall.nouns.jobs.models import JobOutcome
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from tests.conftest import DIMENSIONS
from tests.databases import Query

pytestmark = pytest.mark.in_turns

Sweep = Callable[..., list[JobOutcome]]


class Odd(HashEmbedder):
    """A hash embedder with a name of its own and something that happens before each batch."""

    def __init__(self, before: Callable[[Sequence[str]], None], name: str = f"hash-{DIMENSIONS}") -> None:
        super().__init__(DIMENSIONS)
        self.name = name
        self._before = before
        self.batches: list[Sequence[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(texts)
        self._before(texts)
        return super().embed(texts)


@pytest.fixture
def sweep(database_url: str) -> Iterator[Sweep]:
    """Runs a job with an embedder for all tenants, without waiting between attempts."""
    database = Database(database_url)
    database.open()

    def run(embedder: Any, job: str = "embed", batch: int | None = None) -> list[JobOutcome]:
        runner = Runner(database, embedder=embedder, pauses=(0.0, 0.0), batch=batch)
        return runner.sweep(job_named(job), runner.targets(job_named(job), None))

    yield run
    database.close()


def remember(query: Query, body: str, *, tenant: str = "acme", title: str = "") -> int:
    [row] = query("SELECT recall.remember(%s, %s) AS id", (body, title), tenant=tenant)
    return int(row["id"])


def vector(query: Query, number: int) -> list[float] | None:
    rows = query("SELECT embedding::real[] AS v FROM recall.vector_shared WHERE memory_id = %s", (number,))
    return rows[0]["v"] if rows else None


def models(query: Query) -> list[tuple[str, str | None, int]]:
    rows = query("SELECT tenant, embedded_with, count(*) AS n FROM recall.memory GROUP BY 1, 2 ORDER BY 1, 2")
    return [(row["tenant"], row["embedded_with"], row["n"]) for row in rows]


def test_memories_from_sql_are_found_by_meaning_once_the_job_has_run(
    memory: Memory, query: Query, sweep: Sweep
) -> None:
    number = remember(query, "Harbour seals sleep on the mole.", title="Seals")
    for other in range(150):
        remember(query, f"Ledger entry {other}.")
    assert memory.status().awaiting_embedding == 151
    [outcome] = sweep(HashEmbedder(DIMENSIONS))
    assert (outcome.state, outcome.counts) == ("done", {"embedded": 151})
    assert memory.status().awaiting_embedding == 0
    assert vector(query, number) == pytest.approx(
        HashEmbedder(DIMENSIONS).embed(["Seals\nHarbour seals sleep on the mole."])[0], abs=1e-3
    )
    best = memory.search("seals that sleep").hits[0]
    assert best.id == number
    assert best.explanation["arms"]["semantic"]["rank"] == 1


def test_a_text_that_changes_meanwhile_never_gets_the_vector_of_the_old_one(
    query: Query, sweep: Sweep
) -> None:
    changing, staying = remember(query, "The gate is open."), remember(query, "The bell rings.")
    changes = ["The gate is shut for the winter."]

    def change(_: Sequence[str]) -> None:
        if changes:
            query("UPDATE recall.memory SET body = %s WHERE id = %s", (changes.pop(), changing))

    [outcome] = sweep(Odd(change))
    assert (outcome.state, outcome.counts) == ("done", {"embedded": 1})
    assert vector(query, changing) is None
    assert vector(query, staying) is not None
    [outcome] = sweep(Odd(change))
    assert outcome.counts == {"embedded": 1}
    expected = HashEmbedder(DIMENSIONS).embed(["The gate is shut for the winter."])[0]
    assert vector(query, changing) == pytest.approx(expected, abs=1e-3)


def test_a_memory_forgotten_meanwhile_is_no_failure(query: Query, sweep: Sweep) -> None:
    number = remember(query, "Gone in a moment.")
    [outcome] = sweep(Odd(lambda _: query("SELECT recall.forget(%s, true)", (number,)) and None))
    assert (outcome.state, outcome.counts) == ("done", {"embedded": 0})


def test_a_text_the_embedder_refuses_holds_up_no_other(query: Query, sweep: Sweep) -> None:
    numbers = [remember(query, body) for body in ("One.", "Two, poison.", "Three.", "Four.", "Poison, five.")]

    def refuse(texts: Sequence[str]) -> None:
        if any("poison" in text.lower() for text in texts):
            raise EmbedderError("The text is too long.", hint="Cut it.")

    embedder = Odd(refuse)
    [outcome] = sweep(embedder, batch=3)
    assert (outcome.state, outcome.attempt, outcome.counts) == ("failed", 1, {"embedded": 3})
    assert outcome.error == (
        f"2 memories could not be embedded; the first is memory {numbers[1]}: The text is too long."
    )
    assert [vector(query, number) is None for number in numbers] == [False, True, False, False, True]
    assert [len(batch) for batch in embedder.batches] == [3, 1, 1, 1, 1, 2, 1, 1, 1]


def test_an_embedder_that_is_down_is_asked_twice_an_attempt(query: Query, sweep: Sweep) -> None:
    for number in range(10):
        remember(query, f"Note {number}.")

    def fail(_: Sequence[str]) -> None:
        raise EmbedderError("The endpoint does not answer.")

    embedder = Odd(fail)
    [outcome] = sweep(embedder)
    assert (outcome.state, outcome.attempt, outcome.error) == ("failed", 3, "The endpoint does not answer.")
    assert len(embedder.batches) == 6
    assert models(query) == [("acme", None, 10)]


def test_without_an_embedder_it_says_so(query: Query, sweep: Sweep) -> None:
    remember(query, "A note.")
    [outcome] = sweep(None)
    assert (outcome.state, outcome.attempt) == ("failed", 1)
    assert outcome.error == "There is no embedder to embed with."


def test_another_embedder_than_the_databases_is_refused(query: Query, sweep: Sweep, memory: Memory) -> None:
    memory.remember("A note with a vector.")
    remember(query, "A note without one.")
    [outcome] = sweep(Odd(lambda _: None, "new-model"))
    assert (outcome.state, outcome.attempt) == ("failed", 1)
    assert outcome.error is not None
    assert "holds embeddings of 'hash-64'" in outcome.error
    assert models(query) == [("acme", "hash-64", 1), ("acme", None, 1)]


def test_reembed_replaces_every_vector_of_every_tenant(query: Query, sweep: Sweep, memory: Memory) -> None:
    numbers = [memory.remember(f"Note {number}.").id for number in range(10)]
    memory.forget(numbers[0])
    remember(query, "A note of another.", tenant="globex")
    sweep(HashEmbedder(DIMENSIONS))
    assert models(query) == [("acme", "hash-64", 10), ("globex", "hash-64", 1)]
    outcomes = sweep(Odd(lambda _: None, "new-model"), "reembed", 4)
    assert [(each.tenant, each.state, each.done) for each in outcomes] == [
        ("acme", "done", 10),
        ("globex", "done", 1),
    ]
    assert models(query) == [("acme", "new-model", 10), ("globex", "new-model", 1)]
    assert memory.status().embedder == "new-model"


def test_a_model_of_other_dimensions_cannot_take_over(query: Query, sweep: Sweep, memory: Memory) -> None:
    memory.remember("A note.")
    [outcome] = sweep(HashEmbedder(32), "reembed")
    assert (outcome.state, outcome.attempt) == ("failed", 1)
    assert outcome.error == "The embedder 'hash-32' has 32 dimensions, this database 64."
    assert models(query) == [("acme", "hash-64", 1)]
    assert memory.status().embedder == "hash-64"


def test_a_vector_that_is_there_is_not_stored_again(query: Query, memory: Memory) -> None:
    number = memory.remember("A note.").id
    [row] = query(
        "SELECT m.content_hash, v.embedding::text, m.xmin::text FROM recall.memory m, recall.vector_shared v"
    )
    items = json.dumps([{"id": number, "content_hash": row["content_hash"], "embedding": row["embedding"]}])
    assert query("SELECT recall.store_embeddings(%s, 'hash-64') AS n", (items,)) == [{"n": 0}]
    assert query("SELECT xmin::text FROM recall.memory") == [{"xmin": row["xmin"]}]


@pytest.mark.parametrize(
    ("items", "model", "sentence"),
    [
        ("{}", "m", "must be a JSON array of objects"),
        ("[1]", "m", "must be a JSON array of objects"),
        ("[]", "", "have no name of an embedder"),
        ("[]", None, "have no name of an embedder"),
        ('[{"id": 7, "embedding": "[1, 2]"}]', "m", "Memory 7 cannot be embedded: its embedding has 2"),
        (
            '[{"id": 7, "embedding": "soup"}]',
            "m",
            "Memory 7 cannot be embedded: its embedding cannot be read",
        ),
    ],
)
def test_vectors_that_cannot_be_kept(query: Query, items: str, model: str | None, sentence: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=sentence):
        query("SELECT recall.store_embeddings(%s, %s)", (items, model))


@pytest.mark.parametrize(("model", "dimensions"), [("", 64), (None, 64), ("m", 63), ("m", None)])
def test_no_model_takes_over_without_a_name_and_the_right_dimensions(
    query: Query, model: str | None, dimensions: int | None
) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        query("SELECT recall.begin_reembedding(%s, %s)", (model, dimensions))
    assert query("SELECT recall_private.setting_value('*', 'embedding.model') AS m") == [{"m": None}]
