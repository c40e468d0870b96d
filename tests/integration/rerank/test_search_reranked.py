"""A search that is reread: what the reranker changes, and that nothing it does can break the search."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.nouns.search.models import VitalityMode
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.search.rerank import reranker as reranking
from pgrecall.search.rerank.local import LocalReranker
from pgrecall.search.rerank.reranker import CallableReranker, Reranker
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.waiting import PATIENCE

pytestmark = pytest.mark.in_turns

Judge = Callable[[str, Sequence[str]], Sequence[float]]

BODIES = [f"the winch of quay {number} is inspected" for number in range(12)]
WANTED = "quay 7"


def by_wish(query: str, texts: Sequence[str]) -> list[float]:
    return [4.0 if WANTED in text else -4.0 for text in texts]


@pytest.fixture
def reread(settings: Settings, query: Query) -> Iterator[Callable[..., Memory]]:
    """Makes a client with a reranker, over the same twelve memories."""
    opened: list[Memory] = []

    def make(reranker: Reranker | Judge | None, **changes: object) -> Memory:
        if reranker is not None and not hasattr(reranker, "rerank"):
            reranker = CallableReranker(reranker, "judge", "logit")
        chosen = replace(settings, reranker_deadline=PATIENCE, **changes)
        memory = Memory(settings=chosen, embedder=HashEmbedder(DIMENSIONS), reranker=reranker)  # type: ignore[arg-type]
        opened.append(memory)
        return memory

    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as filling:
        for body in BODIES:
            filling.remember(body, key=body)
    yield make
    for memory in opened:
        memory.close()


def fused_order(memory: Memory) -> list[int]:
    return [hit.id for hit in memory.search("winch inspected", k=12, log=False).hits]


def test_the_reranker_moves_what_answers_to_the_top(reread: Callable[..., Memory]) -> None:
    memory = reread(by_wish)
    before = fused_order(memory)

    result = memory.search("winch inspected", k=3, rerank=True)

    assert result.reranked
    assert not result.skipped
    assert len(result.hits) == 3
    first = result.hits[0]
    assert WANTED in first.body
    assert first.reranked is not None
    assert first.reranked.score == 4.0
    assert first.explanation["rerank"] | {"logit": 0, "probability": 0} == {
        "reranker": "judge", "score": 4.0, "original_rank": first.reranked.original_rank, "new_rank": 1,
        "logit": 0, "probability": 0,
    }  # fmt: skip
    assert before[0] != first.id
    assert result.timings["reranking"] > 0


def test_without_being_asked_no_reranker_reads(reread: Callable[..., Memory]) -> None:
    calls: list[str] = []

    def judge(query: str, texts: Sequence[str]) -> list[float]:
        calls.append(query)
        return [0.0] * len(texts)

    memory = reread(judge)
    memory.search("winch inspected")
    memory.context("winch inspected")

    assert calls == []
    assert not memory.search("winch inspected").reranked


@pytest.mark.parametrize("mode", ["odds", "unbounded", "multiply", "bounded", "off"])
def test_python_weighs_as_sql_does(reread: Callable[..., Memory], query: Query, mode: VitalityMode) -> None:
    """With a blend that leaves the fused relevance alone, order and scores are the fused ones."""
    query(
        "INSERT INTO recall.rerank_model (tenant, reranker, intercept, rerank, fused, fitted_on) "
        "VALUES ('acme', 'judge', 0, 0, 1, 'a test')"
    )
    memory = reread(by_wish)
    for number, hit in enumerate(memory.search("winch inspected", k=12, log=False).hits):
        for _ in range(number % 4):
            memory.record_access(hit.id, "used")

    asked = {"k": 12, "vitality_mode": mode, "log": False, "now": datetime.now(UTC)}
    fused = memory.search("winch inspected", **asked).hits
    reranked = memory.search("winch inspected", rerank=True, **asked).hits

    assert [hit.id for hit in reranked] == [hit.id for hit in fused]
    for one, other in zip(reranked, fused, strict=True):
        assert one.score == pytest.approx(other.score, rel=1e-4)
        assert one.relevance == pytest.approx(other.relevance, rel=1e-9)


def test_what_is_no_evidence_and_what_is_older_stay_so_when_reread(reread: Callable[..., Memory]) -> None:
    memory = reread(lambda _, texts: [4.0 if "password" in text else -4.0 for text in texts])
    memory.remember("The code of the gate is 4711.", key="old", occurred_at=datetime(2026, 3, 1, tzinfo=UTC))
    memory.remember(
        "The code of the gate is 8820 now.", key="new", occurred_at=datetime(2026, 5, 1, tzinfo=UTC)
    )
    memory.remember("What is the password of the guests' network?", role="user", key="asked")

    gate = memory.search("what is the code of the gate", rerank=True).hits
    wifi = memory.search("what is the password of the guests' network", rerank=True)

    assert [hit.key for hit in gate[:2]] == ["new", "old"]
    assert gate[1].newer_version == gate[0].id
    assert wifi.reranked
    assert not wifi.answered


def test_what_changed_goes_before_what_was_said_when_reread(reread: Callable[..., Memory]) -> None:
    memory = reread(lambda _, texts: [2.0 if "15 June" in text else 1.0 for text in texts])
    said, moved = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
    memory.remember(
        "We go live with the tracking page on 15 June.", role="user", key="said", occurred_at=said
    )
    later = "Put off: we go live with the tracking page on 6 July, says legal"
    memory.remember(later, role="user", key="moved", occurred_at=moved)

    hits = memory.search("when does the tracking page go live?", rerank=True).hits

    assert [hit.key for hit in hits[:2]] == ["moved", "said"]
    assert all(hit.reranked for hit in hits[:2])


def raising(query: str, texts: Sequence[str]) -> list[float]:
    raise RuntimeError("no more credit")


def not_numbers(query: str, texts: Sequence[str]) -> list[float]:
    return [math.nan] * len(texts)


def too_few(query: str, texts: Sequence[str]) -> list[float]:
    return [1.0]


def too_many(query: str, texts: Sequence[str]) -> list[float]:
    return [1.0] * (len(texts) + 1)


let_go = threading.Event()


@pytest.fixture(scope="module", autouse=True)
def _nobody_hangs_for_ever() -> Iterator[None]:
    yield
    let_go.set()


def hanging(query: str, texts: Sequence[str]) -> list[float]:
    let_go.wait()
    return [1.0] * len(texts)


@pytest.mark.parametrize(
    ("judge", "named"),
    [
        (raising, "no more credit"),
        (not_numbers, "not a finite number"),
        (too_few, "1"),
        (too_many, "13"),
        (hanging, "the deadline of 0.2 seconds passed"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_whatever_a_reranker_does_the_fused_order_stands_and_the_result_says_why(
    reread: Callable[..., Memory], judge: Judge, named: str
) -> None:
    memory = reread(judge)
    deadline = 0.2 if judge is hanging else 60

    result = memory.search("winch inspected", k=12, rerank=True, deadline=deadline)

    assert [hit.id for hit in result.hits] == fused_order(memory)
    assert not result.reranked
    assert all(hit.reranked is None for hit in result.hits)
    [skipped] = result.skipped
    assert skipped.startswith("reranking: ")
    assert named in skipped


class Impostor(CallableReranker):
    """Answers with an id that nobody gave it."""

    def rerank(
        self, query: str, candidates: Sequence[RerankCandidate], *, top_n: int, deadline: float | None = None
    ) -> RerankOutcome:
        outcome = super().rerank(query, candidates, top_n=top_n, deadline=deadline)
        first, *others = outcome.scores
        return replace(outcome, scores=(replace(first, id=10**9), *others))


def test_ids_not_sent_to_the_reranker_are_ignored(reread: Callable[..., Memory]) -> None:
    memory = reread(Impostor(by_wish, "impostor", "logit"))

    result = memory.search("winch inspected", k=12, rerank=True)

    assert [hit.id for hit in result.hits] == fused_order(memory)
    assert "not an outcome of its candidates" in result.skipped[0]


def test_asked_without_a_reranker_the_result_says_so(reread: Callable[..., Memory]) -> None:
    result = reread(None).search("winch inspected", rerank=True)

    assert result.hits
    assert result.skipped == ("reranking: no reranker is configured",)


def test_a_model_that_is_not_there_is_a_reason_not_an_error(
    reread: Callable[..., Memory], tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    memory = reread(LocalReranker(str(tmp_path)))

    result = memory.search("winch inspected", rerank=True, deadline=PATIENCE)

    assert result.hits
    [skipped] = result.skipped
    assert skipped.startswith("reranking: ")
    assert str(tmp_path) in skipped


def test_what_was_read_in_time_counts(reread: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    # The reranker needs the time to return what it has read by then.
    monkeypatch.setattr(reranking, "_DEADLINE_FACTOR", PATIENCE)
    calls: list[str] = []

    def tiring(query: str, texts: Sequence[str]) -> list[float]:
        calls.extend(texts)
        return by_wish(query, texts) if len(calls) <= 5 else hanging(query, texts)

    memory = reread(CallableReranker(tiring, "slow", "logit", batch=1))

    result = memory.search("winch inspected", k=12, rerank=True, deadline=3)

    read = [hit for hit in result.hits if hit.reranked is not None]
    assert len(read) == 5
    assert result.reranked
    assert "the deadline" in result.skipped[0]


def test_only_so_many_pairs_are_read_the_most_relevant_first(reread: Callable[..., Memory]) -> None:
    read: list[int] = []

    def counting(query: str, texts: Sequence[str]) -> list[float]:
        read.append(len(texts))
        return [0.0] * len(texts)

    memory = reread(counting, reranker_pairs=5)

    result = memory.search("winch inspected", k=12, rerank=True)

    assert sum(read) == 5
    assert len(result.hits) == 12


def test_what_is_shown_after_rereading_is_logged_and_nothing_else(
    reread: Callable[..., Memory], query: Query
) -> None:
    memory = reread(by_wish)

    result = memory.search("winch inspected", k=2, rerank=True, session_id="s")

    logged = query("SELECT memory_id FROM recall.access WHERE kind = 'retrieval' ORDER BY memory_id")
    assert [row["memory_id"] for row in logged] == sorted(hit.id for hit in result.hits)
    [search] = query("SELECT id, shown, query FROM recall.search_log")
    assert (search["id"], search["shown"]) == (result.search_id, [hit.id for hit in result.hits])
    assert search["query"] == "winch inspected"


def test_sub_queries_are_reread_with_the_question_they_belong_to(reread: Callable[..., Memory]) -> None:
    asked: list[str] = []

    def listening(query: str, texts: Sequence[str]) -> list[float]:
        asked.append(query)
        return [0.0] * len(texts)

    memory = reread(listening)
    memory.search("which winch?", queries=("quay 3", "quay 4"), rerank=True)
    memory.search(queries=("winch quay 3", "winch quay 4"), rerank=True)

    assert asked == ["which winch?", "winch quay 3; winch quay 4"]


@pytest.mark.parametrize("deadline", [-1, math.nan, math.inf, True, "soon"])
def test_a_deadline_that_is_no_time_is_refused(reread: Callable[..., Memory], deadline: object) -> None:
    with pytest.raises(InvalidInput, match="deadline"):
        reread(by_wish).search("winch inspected", rerank=True, deadline=deadline)  # type: ignore[arg-type]
