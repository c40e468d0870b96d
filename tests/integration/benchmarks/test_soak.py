"""The soak: a few simulated hours run through and are in order, and its judgement can fail."""

from __future__ import annotations

import pytest

from benchmarks.soak.__main__ import Plan, soak
from benchmarks.soak.measures import Bound, judge


def test_some_hours_of_life_leave_everything_in_order(database_url: str) -> None:
    outcome = soak(database_url, Plan(memories=200, hours=4 / 3, tenants=1))
    assert outcome.problems == []
    assert outcome.hours == pytest.approx(4 / 3)
    assert outcome.counts["memories"] == 200
    assert outcome.counts["fold done"] > 0
    assert outcome.counts["prune done"] > 0
    assert outcome.sizes["rows memory"] > 0
    assert {verdict.figure for verdict in outcome.verdicts} >= {"client memory", "connections", "search"}


@pytest.mark.parametrize(("leak", "ok"), [(0.0, True), (1.0, False)])
def test_what_grows_without_end_is_a_miss(leak: float, ok: bool) -> None:
    samples = [{"held": 10 + leak * turn, "rows": 100.0 + turn} for turn in range(40)]
    [verdict] = judge(samples, [Bound("held", 0.1)])
    assert verdict.ok is ok


def test_what_grows_with_what_it_holds_is_no_miss() -> None:
    samples = [{"bytes": 1000.0 * turn, "rows": 10.0 * turn} for turn in range(1, 40)]
    [alone, beside] = judge(samples, [Bound("bytes", 0.1), Bound("bytes", 0.1, per="rows")])
    assert (alone.ok, beside.ok) == (False, True)


def test_too_few_samples_say_nothing() -> None:
    with pytest.raises(ValueError, match="3 samples"):
        judge([{}, {}, {}])
