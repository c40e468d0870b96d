"""Rerankers that lie in scores and words: they may change the order of hits and nothing more."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pgrecall import Draft, Memory
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.search.rerank.reranker import CallableReranker
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome, RerankScore
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.faults.conftest import Inject

pytestmark = pytest.mark.fault

QUESTION = "when does the harbour open?"
TEXTS = [f"The harbour opens at {hour}" for hour in range(6)]

Candidates = Sequence[RerankCandidate]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("nothing to say")


def fails(error: BaseException) -> Any:
    raise error


SCORES: dict[str, Callable[[Sequence[str]], Any]] = {
    "the largest numbers": lambda texts: [sys.float_info.max] * len(texts),
    "the smallest numbers": lambda texts: [-sys.float_info.max] * len(texts),
    "both": lambda texts: [(-1.0) ** place * sys.float_info.max for place in range(len(texts))],
    "a number that is no float": lambda texts: [10**400] * len(texts),
    "NaN": lambda texts: [math.nan] * len(texts),
    "fewer": lambda texts: [1.0] * (len(texts) - 1),
    "numbers without end": lambda _: (1.0 for _ in iter(int, 1)),
    "words": lambda texts: ["1"] * len(texts),
    "the end of the process": lambda _: fails(SystemExit(3)),
    "an error without words": lambda _: fails(Unspeakable()),
    "an error of ten million characters": lambda _: fails(RuntimeError("k" * 10**7)),
    "its texts changed": lambda texts: texts.clear() or [],  # type: ignore[attr-defined]
}  # fmt: skip


def honest(candidates: Candidates) -> tuple[RerankScore, ...]:
    return tuple(RerankScore(one.id, 1.0, place, place) for place, one in enumerate(candidates, 1))


OUTCOMES: dict[str, Callable[[Candidates], Any]] = {
    "ids of nobody": lambda _: RerankOutcome((RerankScore(10**9, 1.0, 1, 1),)),
    "ids twice": lambda given: RerankOutcome(honest(given) * 2),
    "ids of another type": lambda _: RerankOutcome((RerankScore([], 1.0, 1, 1),)),  # type: ignore[arg-type]
    "ranks out of order": lambda given: RerankOutcome(
        tuple(RerankScore(one.id, 1.0, -7, 10**9) for one in given)
    ),
    "no scores": lambda _: RerankOutcome(None),  # type: ignore[arg-type]
    "scores without end": lambda _: RerankOutcome(iter(int, 1)),  # type: ignore[arg-type]
    "a reason that is no text": lambda given: RerankOutcome(honest(given), False, object()),  # type: ignore[arg-type]
    "a reason with orders to the terminal": lambda given: RerankOutcome(
        honest(given), False, "\x1b[2J\x07late\n" * 100_000
    ),
    "no reason": lambda given: RerankOutcome(honest(given)[:2], False, None),
    "a half truth": lambda given: RerankOutcome(honest(given), "no", None),  # type: ignore[arg-type]
}


class Own:
    """A reranker of one's own that does not use our batches."""

    name = "own"
    scale = "logit"

    def __init__(self, outcome: Callable[[Candidates], Any]) -> None:
        self._outcome = outcome

    def rerank(self, _: str, candidates: Candidates, **__: Any) -> Any:
        return self._outcome(candidates)


LIES: dict[str, Any] = {
    **{lie: CallableReranker(lambda _, texts, f=f: f(texts), lie, "logit") for lie, f in SCORES.items()},
    **{lie: Own(outcome) for lie, outcome in OUTCOMES.items()},
}


@pytest.fixture(scope="module")
def harbour(shared_url: str) -> Settings:
    settings = Settings(database_url=shared_url, tenant="liars", embedder="none", reranker_deadline=0.3)
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        memory.remember_many([Draft(text) for text in TEXTS])
    return settings


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_reranker_only_changes_the_order(lie: str, harbour: Settings, inject: Inject) -> None:
    with Memory(settings=harbour, embedder=HashEmbedder(DIMENSIONS), reranker=LIES[lie]) as memory:
        result = memory.search(QUESTION, rerank=True, explain=True)
        assert sorted(hit.body for hit in result.hits) == TEXTS
        assert [hit.rank for hit in result.hits] == list(range(1, 7))
        assert all(0 <= value <= 1 for hit in result.hits for value in (hit.relevance, hit.score))
        assert 0 <= result.confidence <= 1
        json.dumps([dict(hit.explanation) for hit in result.hits], allow_nan=False)
        for reason in result.skipped:
            assert len(reason) < 500, "a lie fills the answer"
            assert reason.isprintable()
    inject("a reranker that lies")


def test_an_incomplete_answer_says_so(harbour: Settings) -> None:
    reranker = Own(OUTCOMES["no reason"])
    with Memory(settings=harbour, embedder=HashEmbedder(DIMENSIONS), reranker=reranker) as memory:
        [reason] = memory.search(QUESTION, rerank=True).skipped
    assert reason == "reranking: the reranker own left out texts and does not say why"
