"""Reranking as such: scales, batches, deadlines, and what becomes of a reranker that misbehaves."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput, RerankerError
from pgrecall.search.deadline import MAX_LATE_THREADS
from pgrecall.search.rerank.batching import MAX_PAIRS, batches
from pgrecall.search.rerank.reranker import CallableReranker, Reranker, make_reranker, try_rerank, warm_up
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome, RerankScore
from pgrecall.settings import Settings
from tests.unit.search.deadlines import not_before
from tests.waiting import PATIENCE

TEXTS = [
    "the ferry to Skarvik leaves at noon",
    "ferry",
    "Mira signs the harbour contract on Friday, after the audit of the gauges, in the office",
    "a note on knots",
    "the ferry timetable",
]
QUERY = "when does the ferry leave for Skarvik"

Function = Callable[[str, Sequence[str]], Sequence[float]]


def shared_words(query: str, texts: Sequence[str]) -> list[float]:
    """A judge that can be computed by hand: words in common, minus one."""
    asked = set(query.lower().split())
    return [len(asked & set(text.lower().split())) - 1.0 for text in texts]


def candidates(texts: Sequence[str] = TEXTS) -> list[RerankCandidate]:
    return [RerankCandidate(100 + place, text) for place, text in enumerate(texts)]


def judge(function: Function = shared_words, **options: int) -> CallableReranker:
    return CallableReranker(function, "judge", "logit", **options)


def numbers(count: int) -> list[RerankCandidate]:
    return [RerankCandidate(place, str(place)) for place in range(count)]


# Ranks and scores


def test_the_best_come_first_with_both_ranks() -> None:
    outcome = judge().rerank(QUERY, candidates(), top_n=3)
    assert outcome == RerankOutcome(
        (
            RerankScore(100, 2.0, original_rank=1, new_rank=1),
            RerankScore(104, 1.0, original_rank=5, new_rank=2),
            RerankScore(101, 0.0, original_rank=2, new_rank=3),
        )
    )
    assert outcome.complete
    assert outcome.reason is None


def test_equals_keep_their_order() -> None:
    outcome = judge(lambda _, texts: [0.0] * len(texts)).rerank("q", candidates(), top_n=9)
    assert [score.original_rank for score in outcome.scores] == [1, 2, 3, 4, 5]


def test_no_candidates_are_an_outcome_and_no_call() -> None:
    asked: list[str] = []
    reranker = judge(lambda query, _: asked.append(query) or [])
    assert reranker.rerank("q", [], top_n=5) == RerankOutcome()
    assert asked == []


def test_only_the_first_pairs_are_read() -> None:
    outcome = judge().rerank("q", numbers(70), top_n=70)
    assert {score.original_rank for score in outcome.scores} == set(range(1, MAX_PAIRS + 1))
    assert outcome.complete


def test_long_texts_and_questions_are_cut_before_they_are_read() -> None:
    lengths: list[int] = []

    def measure(query: str, texts: Sequence[str]) -> list[float]:
        lengths.extend([len(query), *map(len, texts)])
        return [0.0] * len(texts)

    judge(measure).rerank("q" * 50_000, [RerankCandidate(1, "t" * 1_000_000)], top_n=1)
    assert lengths == [2_000, 8_000]


# Batches


@given(
    st.lists(st.text("ab c", max_size=30), max_size=40),
    st.integers(1, 12),
    st.integers(1, 60),
    st.integers(1, 60),
)
def test_batches_and_their_order_do_not_change_the_outcome(
    texts: list[str], batch: int, top_n: int, pairs: int
) -> None:
    given_ = candidates(texts)
    whole = judge(pairs=pairs).rerank("a b c", given_, top_n=top_n)
    assert judge(pairs=pairs, batch=batch).rerank("a b c", given_, top_n=top_n) == whole
    assert judge(pairs=pairs, batch=batch).rerank("a b c", given_, top_n=top_n, deadline=60) == whole


@given(st.lists(st.integers(0, 1000), max_size=80), st.integers(1, 30), st.integers(1, 30))
def test_batches_hold_each_place_once_group_after_group_the_shortest_first(
    lengths: list[int], group: int, batch: int
) -> None:
    made = list(batches(lengths, group, batch))
    places = [place for part in made for place in part]
    assert sorted(places) == list(range(len(lengths)))
    assert [place // group for place in places] == sorted(place // group for place in places)
    for start in range(0, len(places), group):
        read = [lengths[place] for place in places[start : start + group]]
        assert read == sorted(read)
    assert all(len(part) <= batch for part in made)


# Scales


def test_logits_stay_what_they_are() -> None:
    scores = CallableReranker(lambda *_: [-11.5, 8.25, 0.0], "m", "logit").rerank("q", numbers(3), top_n=3)
    assert [score.score for score in scores.scores] == [8.25, 0.0, -11.5]


def test_probabilities_become_logits_even_where_they_could_be_either() -> None:
    values = [0.5, 0.880797077977882, 0.0, 1.0]
    outcome = CallableReranker(lambda *_: values, "m", "probability").rerank("q", numbers(4), top_n=4)
    assert [score.id for score in outcome.scores] == [3, 1, 0, 2]
    by_id = {score.id: score.score for score in outcome.scores}
    assert by_id[0] == 0.0
    assert by_id[1] == pytest.approx(2.0)
    assert by_id[3] == pytest.approx(math.log(1e6 - 1))
    assert by_id[2] == pytest.approx(-by_id[3])


@given(st.floats(-13, 13))
def test_a_sigmoid_is_undone(logit: float) -> None:
    probability = 1 / (1 + math.exp(-logit))
    outcome = CallableReranker(lambda *_: [probability], "m", "probability").rerank("q", numbers(1), top_n=1)
    assert outcome.scores[0].score == pytest.approx(logit, abs=1e-6)


@pytest.mark.parametrize("value", [-0.01, 1.01, 7.0])
def test_a_score_that_is_no_probability_is_reported(value: float) -> None:
    with pytest.raises(RerankerError, match="declared to return probabilities") as caught:
        CallableReranker(lambda *_: [value], "m", "probability").rerank("q", numbers(1), top_n=1)
    assert "PGRECALL_RERANKER_SCALE" in caught.value.hint


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, None, "0.5", True, [0.5], np.nan])
def test_scores_must_be_finite_numbers(value: object) -> None:
    reranker = judge(lambda _, texts: [0.0] * (len(texts) - 1) + [value])
    with pytest.raises(RerankerError, match="judge returned a score that is not a finite number"):
        reranker.rerank("q", numbers(3), top_n=3)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_scores_must_be_as_many_as_the_texts(count: int) -> None:
    with pytest.raises(RerankerError, match=f"judge returned {count} scores for 3 texts"):
        judge(lambda *_: [0.0] * count).rerank("q", numbers(3), top_n=3)


@pytest.mark.parametrize("value", [None, 0.7])
def test_scores_must_be_a_list(value: object) -> None:
    with pytest.raises(RerankerError, match=f"returned {type(value).__name__} instead of a list"):
        judge(lambda *_: value).rerank("q", numbers(3), top_n=3)


def test_an_array_of_numpy_is_a_list_of_numbers() -> None:
    reranker = judge(lambda _, texts: np.arange(len(texts), dtype=np.float32))
    outcome = reranker.rerank("q", numbers(3), top_n=1)
    assert outcome.scores == (RerankScore(2, 2.0, original_rank=3, new_rank=1),)
    assert type(outcome.scores[0].score) is float


# Deadlines


@dataclass
class Stuck:
    """A judge that answers its first calls and waits in the next one until it is let go."""

    answers: int
    calls: list[list[str]] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)

    def __call__(self, _: str, texts: Sequence[str]) -> list[float]:
        self.calls.append(list(texts))
        if len(self.calls) > self.answers:
            HANGING.add(threading.current_thread())
            self.go_on.wait()
        return [float(text) for text in texts]


HANGING = weakref.WeakSet[threading.Thread]()
"""Whose work is stuck in a judge."""


@pytest.fixture
def stuck_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No deadline passes before the judge is stuck."""
    not_before(monkeypatch, lambda thread: thread in HANGING)


def late_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("pgrecall reranker")]


def let_go(*stuck: Stuck) -> None:
    for one in stuck:
        one.go_on.set()
    for thread in late_threads():
        thread.join(PATIENCE)


@pytest.mark.usefixtures("stuck_in_time")
def test_what_was_read_by_the_deadline_is_kept_the_first_ranks_first() -> None:
    stuck = Stuck(answers=2)
    outcome = CallableReranker(stuck, "stuck", "logit", batch=4).rerank(
        "q", numbers(20), top_n=5, deadline=0.05
    )
    assert not outcome.complete
    assert outcome.reason == "the deadline of 0.05 seconds passed with 8 of 20 pairs read"
    assert [score.id for score in outcome.scores] == [7, 6, 5, 4, 3]
    assert (outcome.scores[0].original_rank, outcome.scores[0].new_rank) == (8, 1)
    let_go(stuck)
    assert len(stuck.calls) == 3, "it went on after it was given up"


@pytest.mark.usefixtures("stuck_in_time")
def test_a_judge_that_hangs_from_the_start_leaves_no_scores() -> None:
    stuck = Stuck(answers=0)
    outcome = CallableReranker(stuck, "stuck", "logit").rerank("q", numbers(3), top_n=5, deadline=0.05)
    assert outcome == RerankOutcome((), False, "the deadline of 0.05 seconds passed with 0 of 3 pairs read")
    let_go(stuck)


@pytest.mark.parametrize("deadline", [0.0, -1.0, -math.inf])
def test_a_deadline_in_the_past_reads_nothing(deadline: float) -> None:
    stuck = Stuck(answers=9)
    outcome = CallableReranker(stuck, "stuck", "logit").rerank("q", numbers(3), top_n=5, deadline=deadline)
    assert (outcome.scores, outcome.complete, stuck.calls) == ((), False, [])


@pytest.mark.parametrize("deadline", [1e9, 1e300, math.inf])
def test_a_deadline_may_be_far(deadline: float) -> None:
    assert judge().rerank("q", numbers(3), top_n=5, deadline=deadline).complete


@pytest.mark.usefixtures("stuck_in_time")
def test_calls_that_hang_do_not_pile_up() -> None:
    stuck = Stuck(answers=0)
    reranker = CallableReranker(stuck, "piles up", "logit")
    for _ in range(MAX_LATE_THREADS):
        assert not reranker.rerank("q", numbers(1), top_n=1, deadline=0.01).complete
    with pytest.raises(RerankerError, match="still busy with 4 calls"):
        reranker.rerank("q", numbers(1), top_n=1, deadline=0.01)
    assert judge().rerank("q", numbers(1), top_n=1, deadline=60).complete, "another one is kept from working"
    let_go(stuck)
    assert reranker.rerank("q", numbers(1), top_n=1, deadline=60).complete


@pytest.mark.parametrize("deadline", [None, 60])
@pytest.mark.parametrize("leaving", [SystemExit(3), asyncio.CancelledError()])
def test_a_judge_cannot_end_more_than_its_call(leaving: BaseException, deadline: float | None) -> None:
    def leaves(*_: object) -> list[float]:
        raise leaving

    with pytest.raises(RerankerError, match=f"failed: {type(leaving).__name__}"):
        judge(leaves).rerank("q", numbers(3), top_n=3, deadline=deadline)


ALONE = """
import threading
from pgrecall.search.rerank.reranker import CallableReranker
from pgrecall.search.rerank.scores import RerankCandidate
forever = threading.Event()
hangs = CallableReranker(lambda query, texts: forever.wait(600) or [], "hangs", "logit")
print(hangs.rerank("q", [RerankCandidate(1, "a")], top_n=1, deadline=0.05).complete)
"""


def test_a_judge_that_hangs_does_not_keep_the_process_from_ending() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


# Failures


def test_an_exception_of_the_callable_is_reported_in_a_sentence() -> None:
    def broken(query: str, texts: Sequence[str]) -> list[float]:
        raise ConnectionError("the model is away.\nTraceback: many lines")

    for deadline in (None, 60):
        with pytest.raises(RerankerError) as caught:
            judge(broken).rerank("q", numbers(3), top_n=3, deadline=deadline)
        assert caught.value.message == "The reranker judge failed: ConnectionError: the model is away."
        assert caught.value.hint
        assert isinstance(caught.value.__cause__, ConnectionError)


@pytest.mark.parametrize(
    ("given_", "top_n", "deadline", "sentence"),
    [
        (numbers(2), 0, None, "top_n 0"),
        (numbers(2), -1, None, "top_n -1"),
        (numbers(2), 1, math.nan, "not a number"),
        ([*numbers(2), RerankCandidate(1, "again")], 1, None, "the same id"),
    ],
)
def test_bad_requests_are_refused(
    given_: list[RerankCandidate], top_n: int, deadline: float | None, sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        judge().rerank("q", given_, top_n=top_n, deadline=deadline)
    with pytest.raises(InvalidInput, match=sentence):
        try_rerank(judge(), "q", given_, top_n=top_n, deadline=deadline)


@pytest.mark.parametrize("options", [{"pairs": 0}, {"batch": 0}, {"pairs": -3}])
def test_bad_numbers_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="Give at least 1"):
        judge(**options)


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'percent'"):
        CallableReranker(shared_words, "m", "percent")


# Whatever a reranker does


@dataclass
class Foreign:
    """A reranker of somebody else, which returns or raises what it was given."""

    returns: object
    name: str = "foreign"
    scale: str = "logit"
    warmed: bool = False

    def rerank(self, *_: object, **__: object) -> object:
        if isinstance(self.returns, Exception):
            raise self.returns
        return self.returns() if callable(self.returns) else self.returns


def tried(returns: object, deadline: float | None = 60) -> RerankOutcome:
    foreign: Reranker = Foreign(returns)
    return try_rerank(foreign, "q", numbers(3), top_n=2, deadline=deadline)


def test_a_good_outcome_is_passed_on_and_its_ranks_are_counted_again() -> None:
    theirs = RerankOutcome((RerankScore(1, -2.0, 7, 9), RerankScore(2, 3.0, 0, 0)), False, "tired")
    assert tried(theirs) == RerankOutcome(
        (RerankScore(2, 3.0, 3, 1), RerankScore(1, -2.0, 2, 2)), False, "tired"
    )


@pytest.mark.usefixtures("stuck_in_time")
def test_our_own_partial_outcome_is_passed_on() -> None:
    stuck = Stuck(answers=1)
    reranker = CallableReranker(stuck, "stuck", "logit", batch=2)
    outcome = try_rerank(reranker, "q", numbers(5), top_n=5, deadline=0.5)
    assert [score.id for score in outcome.scores] == [1, 0]
    assert outcome.reason == "the deadline of 0.5 seconds passed with 2 of 5 pairs read"
    let_go(stuck)


@pytest.mark.parametrize("deadline", [None, 60])
@pytest.mark.parametrize(
    ("returns", "reason"),
    [
        (ValueError("no such thing"), "ValueError: no such thing"),
        (RerankerError("Down.", hint="Wait."), "Down. Wait."),
        (None, "not an outcome"),
        ([0.1, 0.2, 0.3], "not an outcome"),
        (RerankOutcome((RerankScore(99, 1.0, 1, 1),)), "not an outcome"),
        (RerankOutcome((RerankScore(1, 1.0, 1, 1), RerankScore(1, 2.0, 2, 2))), "not an outcome"),
        (RerankOutcome((RerankScore(1, math.nan, 1, 1),)), "not a finite number"),
        (RerankOutcome((7,)), "AttributeError"),
    ],
)
def test_what_goes_wrong_becomes_the_reason(returns: object, reason: str, deadline: float | None) -> None:
    outcome = tried(returns, deadline)
    assert (outcome.scores, outcome.complete) == ((), False)
    assert reason in (outcome.reason or "")
    assert "\n" not in (outcome.reason or "")


def test_a_reranker_that_forgets_its_deadline_is_left() -> None:
    go_on = threading.Event()
    outcome = tried(lambda: go_on.wait(), deadline=0.05)
    assert outcome == RerankOutcome((), False, "the deadline of 0.05 seconds passed")
    go_on.set()
    let_go()


def test_warming_up_asks_only_those_that_can() -> None:
    class Loads(Foreign):
        def warm_up(self) -> None:
            self.warmed = True

    loads = Loads(None)
    warm_up(loads)
    assert loads.warmed
    warm_up(judge())


# Settings


def test_no_reranker_is_the_default() -> None:
    assert make_reranker(Settings()) is None


@pytest.mark.parametrize(
    ("settings", "needs"),
    [
        ({"reranker": "http"}, "PGRECALL_RERANKER_URL"),
        ({"reranker": "http", "reranker_url": "http://localhost"}, "PGRECALL_RERANKER_MODEL"),
        ({"reranker": "onnx"}, "PGRECALL_RERANKER_MODEL"),
    ],
)
def test_what_a_reranker_needs_is_named(settings: dict[str, str], needs: str) -> None:
    with pytest.raises(InvalidInput, match=needs):
        make_reranker(Settings(**settings))


def test_making_a_reranker_loads_no_model_library() -> None:
    code = (
        "import sys; from pgrecall.settings import Settings; from pgrecall.search.rerank.reranker import *\n"
        "make_reranker(Settings(reranker='http', reranker_form='tei', reranker_url='http://localhost'))\n"
        "print({'torch', 'sentence_transformers', 'onnxruntime', 'tokenizers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
