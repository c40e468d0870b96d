"""The fold of an access log: what counts, when it counts, and that the order of arrival never matters."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.vitality.activation import AccessSummary
from pgrecall.vitality.parameters import LayerRates
from pgrecall.vitality.score import activation_terms
from tests.model.access_log import LoggedAccess, fold, without_bursts

NOW = 1_780_000_000.0
WEIGHTS = {"write": 2.5, "read": 1.0, "reference": 0.7, "used": 2.01, "retrieval": 0.1}
HAIR = 1 + 1e-12
"""Room for the last bits of a float."""
BIRTH = LoggedAccess(NOW - 10_000, 1.0, "write")


@st.composite
def logged(draw: st.DrawFn) -> LoggedAccess:
    """An access near others; its weight follows from its kind, as in the database."""
    kind = draw(st.sampled_from(sorted(WEIGHTS)))
    seconds = draw(st.integers(-5_000, 0) | st.sampled_from([-1200, -601, -600, -599, -300, 0]))
    at = NOW + seconds + draw(st.sampled_from([0.0, 0.25]))
    return LoggedAccess(at, WEIGHTS[kind], kind, draw(st.sampled_from([None, "a", "b"])))


logs = st.lists(logged(), max_size=40).map(lambda events: [BIRTH, *events])
bursts = st.sampled_from([0.0, 0.25, 60.0, 600.0, 86_400.0])
randoms = st.randoms(use_true_random=False)


def shuffled(events: list[LoggedAccess], random: Random) -> list[LoggedAccess]:
    return random.sample(events, len(events))


def uses(*seconds: float, session: str | None = "s", kind: str = "read") -> list[LoggedAccess]:
    return [LoggedAccess(NOW + at, WEIGHTS[kind], kind, session) for at in seconds]


def times(events: list[LoggedAccess]) -> list[float]:
    return [event.at - NOW for event in events]


@given(logs, bursts, randoms)
def test_a_log_folds_to_the_same_in_any_order(
    events: list[LoggedAccess], burst: float, random: Random
) -> None:
    assert fold(shuffled(events, random), burst) == fold(events, burst)


@given(logs, bursts, randoms)
def test_bursts_are_the_same_in_any_order(events: list[LoggedAccess], burst: float, random: Random) -> None:
    counting, as_shuffled = (without_bursts(log, burst) for log in (events, shuffled(events, random)))
    assert sorted(as_shuffled, key=repr) == sorted(counting, key=repr)
    assert times(as_shuffled) == times(counting)


@given(logs, bursts)
def test_a_use_counts_unless_its_like_lies_shortly_before(events: list[LoggedAccess], burst: float) -> None:
    def repeats(place: int) -> bool:
        event = events[place]
        return event.session is not None and any(
            (other.session, other.kind) == (event.session, event.kind)
            and 0 <= event.at - other.at < burst
            and (other.at, rank) < (event.at, place)
            for rank, other in enumerate(events)
        )

    expected = [event for place, event in enumerate(events) if not repeats(place)]
    assert without_bursts(events, burst) == sorted(expected, key=lambda event: event.at)


@given(logs, bursts)
def test_no_credit_is_lost(events: list[LoggedAccess], burst: float) -> None:
    folded = fold(events, burst)
    assert 0 <= folded.credit < 1
    weights = sum(Fraction(str(event.weight)) for event in without_bursts(events, burst))
    assert folded.summary.count + Fraction(str(folded.credit)) == weights


@given(logs, bursts)
def test_each_access_lies_where_the_weights_reach_it(events: list[LoggedAccess], burst: float) -> None:
    counting = without_bursts(events, burst)

    def reached_by(moment: float) -> Fraction:
        return sum((Fraction(str(event.weight)) for event in counting if event.at <= moment), Fraction())

    folded = fold(events, burst)
    expected = [
        min(event.at for event in counting if reached_by(event.at) >= unit)
        for unit in range(1, folded.summary.count + 1)
    ]
    assert folded.summary == AccessSummary.of(expected)


@given(logs, logged(), bursts)
def test_an_access_made_now_never_lowers_vitality(
    events: list[LoggedAccess], last: LoggedAccess, burst: float
) -> None:
    latest = LoggedAccess(NOW + 1, last.weight, last.kind, last.session)
    before, after = (fold(log, burst).summary for log in (events, [*events, latest]))
    activation, raised = (
        activation_terms(summary, LayerRates(), NOW + 1).activation for summary in (before, after)
    )
    assert raised * HAIR >= activation
    assert after.count >= before.count


@given(st.lists(st.integers(-5_000, 0), min_size=1))
def test_without_sessions_whole_uses_are_accesses(seconds: list[int]) -> None:
    folded = fold(uses(*seconds, session=None))
    assert (folded.summary, folded.credit) == (AccessSummary.of(NOW + at for at in seconds), 0)


def test_a_run_of_uses_is_one_use_at_its_start() -> None:
    assert times(without_bursts(uses(0, 599, 1198, 1797))) == [0]
    assert times(without_bursts(uses(1797, 0, 1198, 599))) == [0]


def test_a_gap_of_ten_minutes_ends_a_run() -> None:
    assert times(without_bursts(uses(0, 600, 1199))) == [0, 600]


def test_another_session_or_kind_is_no_repeat() -> None:
    events = uses(0) + uses(1, session="t") + uses(2, kind="used") + uses(3, 3, session=None) + uses(4)
    assert times(without_bursts(events)) == [0, 1, 2, 3, 3]


def test_of_uses_at_one_moment_the_first_given_counts() -> None:
    heavy, light = (LoggedAccess(NOW, weight, "write", "s") for weight in (2.0, 1.0))
    assert without_bursts([heavy, light]) == [heavy]
    assert without_bursts([light, heavy]) == [light]


def test_a_late_use_that_closes_the_gap_joins_two_runs() -> None:
    assert fold(uses(0, 1000)).summary.count == 2
    assert fold([*uses(0, 1000), *uses(500)]).summary.count == 1


def test_ten_minutes_are_ten_minutes_where_floats_grow_coarser() -> None:
    before, after = 2.0**31 - 300 + 0.14, 2.0**31 + 300 + 0.14  # in January 2038
    assert after - before < 600
    assert len(without_bursts([LoggedAccess(at, 1, "read", "s") for at in (before, after)])) == 2


def test_ten_retrievals_are_one_access_at_the_tenth() -> None:
    retrievals = uses(*range(1, 12), session=None, kind="retrieval")
    folded = fold([BIRTH, *retrievals])
    assert folded.summary == AccessSummary.of([BIRTH.at, NOW + 10])
    assert folded.credit == 0.1


def test_a_birth_of_two_and_a_half_is_two_accesses_and_leaves_a_half() -> None:
    birth = LoggedAccess(NOW, 2.5, "write")
    assert fold([birth]).summary == AccessSummary.of([NOW, NOW])
    assert fold([birth]).credit == 0.5
    half = LoggedAccess(NOW + 5, 0.5, "retrieval")
    assert fold([half, birth]).summary == AccessSummary.of([NOW, NOW, NOW + 5])


@pytest.mark.parametrize(("weights", "sum_of_weights"), [([], "0.0"), ([0.1, 0.2], "0.3"), ([0.0], "0.0")])
def test_less_than_one_access_cannot_be_summed_up(weights: list[float], sum_of_weights: str) -> None:
    with pytest.raises(ValueError, match=f"come to {sum_of_weights}, less than one access"):
        fold(LoggedAccess(NOW, weight, "retrieval") for weight in weights)


def test_a_logged_access_names_every_bad_value_at_once() -> None:
    with pytest.raises(ValueError, match="; ") as caught:
        LoggedAccess(math.nan, -0.1, "read")
    assert str(caught.value) == (
        "at is nan, not in [-1000000000000.0, 1000000000000.0]; weight is -0.1, not in [0, 100]"
    )
