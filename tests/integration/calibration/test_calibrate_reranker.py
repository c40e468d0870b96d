"""How a reranker's score is read, fitted to judgements: rerankers that know more, nothing, or fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import pytest

from pgrecall import Memory
from pgrecall.errors import InvalidInput, RerankerError
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.search.rerank.reranker import CallableReranker
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.integration.calibration.calibration_world import TOPICS, fill, judged

pytestmark = pytest.mark.in_turns

Judge = Callable[[str, Sequence[str]], Sequence[float]]
Reading = Callable[[Judge], AbstractContextManager[Memory]]


def knows(query: str, texts: Sequence[str]) -> list[float]:
    """A logit on a scale of its own: 2 where a text has both words, else about -1."""
    asked = query.split()[-2:]
    return [2.0 if all(word in text for word in asked) else -1.0 - len(text) / 100 for text in texts]


def contrary(query: str, texts: Sequence[str]) -> list[float]:
    return [-score for score in knows(query, texts)]


def broken(query: str, texts: Sequence[str]) -> list[float]:
    raise ValueError("out of order")


@pytest.fixture
def reading(memory: Memory, settings: Settings) -> Reading:
    """A client of the world's tenant with a reranker."""
    fill(memory)

    @contextmanager
    def opened(judge: Judge) -> Iterator[Memory]:
        reranker = CallableReranker(judge, name="a judge", scale="logit")
        with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS), reranker=reranker) as client:
            yield client

    return opened


def test_a_reranker_that_knows_is_believed(reading: Reading) -> None:
    with reading(knows) as memory:
        shipped = memory.quality.rerank_models()
        done = memory.quality.calibrate(judged(), reranker=True)
        assert (done.fitted, done.name, done.stored) == ("rerank", "a judge", True)
        assert (done.queries, done.relevant) == (TOPICS, TOPICS)
        assert set(done.coefficients) == {"intercept", "rerank", "fused"}
        assert done.coefficients["rerank"] > 1
        assert done.after.log_loss < done.before.log_loss / 2

        mine, *others = memory.quality.rerank_models()
        assert (mine.reranker, mine.source, mine.in_force) == ("a judge", "tenant", True)
        assert mine.coefficients == done.coefficients
        assert tuple(others) == shipped
        # The relevance of a reranked hit is now what was fitted.
        hits = memory.search(judged()[3].question.query, rerank=True, log=False).hits
        assert hits[0].relevance > 0.9 > 0.1 > hits[1].relevance

        assert memory.quality.reset_calibration(reranker=True)
        assert memory.quality.rerank_models() == shipped
        assert not memory.quality.reset_calibration(reranker=True)


def test_a_reranker_that_knows_better_than_not_is_held_at_zero(reading: Reading) -> None:
    with reading(contrary) as memory:
        done = memory.quality.calibrate(judged(), reranker=True, dry_run=True)
    assert done.coefficients["rerank"] == 0
    assert done.held_at_zero == ("rerank",)
    assert done.coefficients["fused"] > 0


def test_a_reranker_that_fails_stores_nothing(reading: Reading) -> None:
    with reading(broken) as memory:
        shipped = memory.quality.rerank_models()
        with pytest.raises(RerankerError, match=r"was read: .*out of order.* Nothing was stored\."):
            memory.quality.calibrate(judged(), reranker=True)
        assert memory.quality.rerank_models() == shipped


def test_without_a_reranker_none_can_be_fitted(memory: Memory) -> None:
    calls = (memory.quality.calibrate, judged()), (memory.quality.reset_calibration, "balanced")
    for call, argument in calls:
        with pytest.raises(InvalidInput, match=r"^No reranker is configured\. Set PGRECALL_RERANKER\.$"):
            call(argument, reranker=True)
