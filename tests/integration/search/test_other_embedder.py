"""A client whose embedder is not the one of the database: words and names answer, and the result says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from pgrecall import Memory
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query

QUESTION = "Where do the seals of the harbour sleep?"
SKIPPED = (
    "meaning: this database holds embeddings of 'hash-64', not of 'turned'; "
    "`pgrecall jobs run reembed` replaces them"
)


class Turned(HashEmbedder):
    """Vectors of the same length in which every text means its opposite."""

    def __init__(self) -> None:
        super().__init__(DIMENSIONS)
        self.name = "turned"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return [[-one for one in vector] for vector in super().embed(texts)]


@pytest.fixture
def turned(memory: Memory, database_url: str) -> Iterator[tuple[Memory, Turned]]:
    memory.remember("Harbour seals sleep on the mole.", key="seals")
    memory.remember("The mole was built of granite.", key="mole")
    embedder = Turned()
    with Memory(database_url, tenant="acme", embedder=embedder) as other:
        yield other, embedder


def test_words_answer_and_the_result_says_so(turned: tuple[Memory, Turned], database_url: str) -> None:
    other, _ = turned
    with Memory(tenant="acme", settings=Settings(database_url=database_url, embedder="none")) as plain:
        by_words = plain.search(QUESTION, log=False)
    for found in (other.search(QUESTION), other.search(QUESTION, log=False)):
        assert [(hit.key, hit.relevance) for hit in found.hits] == [
            (hit.key, pytest.approx(hit.relevance)) for hit in by_words.hits
        ]
        assert found.skipped == (SKIPPED,)
    assert SKIPPED in other.context(QUESTION, log=False).skipped


def test_it_is_logged_once_with_what_was_shown(turned: tuple[Memory, Turned], query: Query) -> None:
    other, _ = turned
    found = other.search(QUESTION)
    [row] = query("SELECT id, shown FROM recall.search_log")
    assert (row["id"], row["shown"]) == (found.search_id, [hit.id for hit in found.hits])


def test_a_miss_and_a_replay_say_so(turned: tuple[Memory, Turned]) -> None:
    other, _ = turned
    other.search(QUESTION)
    missed = other.quality.miss(QUESTION, "mole")
    assert missed.arms["semantic"]["reason"] == "The vector of the query was made by another embedder."
    assert "similarity" not in missed.arms["semantic"]
    assert other.quality.replay(vitality_weight=0.0).skipped == (SKIPPED,)


def test_meaning_counts_again_once_its_vectors_are_there(turned: tuple[Memory, Turned]) -> None:
    other, _ = turned
    assert other.search(QUESTION).skipped == (SKIPPED,)
    [outcome] = other.jobs.run("reembed")
    assert outcome.state == "done"
    found = other.search(QUESTION)
    assert (found.skipped, found.hits[0].key) == ((), "seals")
    assert found.hits[0].explanation["arms"]["semantic"]["rank"] == 1
