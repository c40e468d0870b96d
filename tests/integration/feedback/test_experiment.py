"""Experiments: sessions divided by chance, what is logged of it, and a report that waits for enough."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pgrecall import Draft, InvalidInput, Memory
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.operations import find
from tests.conftest import NOW
from tests.databases import Query

pytestmark = pytest.mark.in_turns


def arm_of(query: Query, session: str, number: int = 1, tenant: str = "acme") -> str:
    [row] = query("SELECT recall_private.experiment_arm(%s, %s, %s) AS arm", (tenant, number, session))
    return str(row["arm"])


def session_in(query: Query, arm: str) -> str:
    return next(name for name in (f"s{n}" for n in range(100)) if arm_of(query, name) == arm)


def logged(query: Query) -> list[Any]:
    return [
        tuple(row.values())
        for row in query("SELECT experiment, arm, arm_weight FROM recall.search_log ORDER BY id")
    ]


def begin(memory: Memory, number: float = 1, weight: float = 2.0) -> None:
    memory.settings.set("search.experiment", number)
    memory.settings.set("search.experiment_weight", weight)


def history(query: Query, outcomes: dict[str, tuple[int, int]], memory_id: int, number: int = 1) -> None:
    """Logs for each arm so many sessions of one search, of which so many used what was shown."""
    for arm, (sessions, used) in outcomes.items():
        weight = {"off": 0, "default": 0.5, "other": 2}[arm]
        query(
            "WITH logged AS (INSERT INTO recall.search_log "
            "(tenant, at, session_id, query, profile, shown, experiment, arm, arm_weight) "
            "SELECT 'acme', %s, %s || n, 'q', 'balanced', ARRAY[%s]::bigint[], %s, %s, %s "
            "FROM generate_series(1, %s) n RETURNING id, session_id) "
            "INSERT INTO recall.judgement (tenant, search_id, memory_id, verdict, at) "
            "SELECT 'acme', id, %s, 'used', %s FROM logged "
            "WHERE substr(session_id, length(%s) + 1)::int <= %s",
            (NOW, arm, memory_id, number, arm, weight, sessions, memory_id, NOW, arm, used),
        )


# Arms


def test_without_an_experiment_nothing_is_divided(memory: Memory, query: Query) -> None:
    memory.remember("The harbour report.")
    memory.search("harbour", session_id="s1")
    assert logged(query) == [(None, None, None)]
    report = memory.quality.experiment()
    assert (report.number, report.running, report.refused) == (None, False, "no_experiment")
    assert report.conclusion.startswith("There is no experiment.")


def test_a_session_keeps_its_arm_and_its_weight_is_logged(memory: Memory, query: Query) -> None:
    memory.remember("The harbour report.")
    begin(memory)
    for arm in ("off", "default", "other"):
        session = session_in(query, arm)
        for _ in range(2):
            memory.search("harbour", session_id=session)
    assert logged(query) == [
        *[(1, "off", 0.0)] * 2, *[(1, "default", 0.5)] * 2, *[(1, "other", 2.0)] * 2
    ]  # fmt: skip
    report = memory.quality.experiment()
    assert [(arm.arm, arm.sessions, arm.searches, arm.weights) for arm in report.arms] == [
        ("off", 1, 2, (0.0,)), ("default", 1, 2, (0.5,)), ("other", 1, 2, (2.0,))
    ]  # fmt: skip


def test_the_arm_ranks(memory: Memory, query: Query) -> None:
    lively = memory.remember("The harbour report of last week, with much else in it.").id
    exact = memory.remember("The harbour report.").id
    for number in range(6):
        memory.record_access(lively, "used", session_id=f"before{number}")
    begin(memory, weight=10.0)
    first = {
        arm: memory.search("the harbour report", session_id=session_in(query, arm)).hits[0].id
        for arm in ("off", "other")
    }
    assert first == {"off": exact, "other": lively}
    expected = memory.search("the harbour report", vitality_mode="off").hits
    arm = memory.search("the harbour report", session_id=session_in(query, "off")).hits
    assert [hit.score for hit in arm] == pytest.approx([hit.score for hit in expected])


@pytest.mark.parametrize(
    "options",
    [{}, {"vitality_weight": 0.7}, {"vitality_mode": "odds"}, {"as_of": NOW}],
    ids=["no session", "weight", "mode", "as of"],
)
def test_chance_does_not_decide_where_the_caller_does(
    memory: Memory, query: Query, options: dict[str, Any]
) -> None:
    memory.remember_many([Draft("The harbour report.")], now=NOW - timedelta(days=1))
    begin(memory)
    memory.search("harbour", session_id="s1" if options else None, **options)
    # What a search as of a past moment shows is not logged at all.
    assert logged(query) == ([] if "as_of" in options else [(None, None, None)])


def test_searches_outside_are_counted(memory: Memory, query: Query) -> None:
    memory.remember("The harbour report.")
    begin(memory)
    memory.search("harbour", session_id="s1")
    memory.search("harbour")
    memory.search("harbour", session_id="s1", vitality_weight=1.0)
    memory.search("harbour", session_id="s1")
    report = memory.quality.experiment()
    assert (report.without_session, report.not_assigned) == (1, 1)
    assert sum(arm.searches for arm in report.arms) == 2


def test_a_context_logs_its_arm(memory: Memory, query: Query) -> None:
    memory.remember("The harbour report.")
    begin(memory)
    memory.context("harbour", session_id=session_in(query, "other"))
    assert logged(query) == [(1, "other", 2.0)]


def test_a_window_without_words_is_not_part_of_it(memory: Memory, query: Query) -> None:
    memory.remember("The harbour report.")
    begin(memory)
    request = SearchRequest("", since=NOW - timedelta(days=3650), session_id=session_in(query, "off"))
    found = memory._connection.execute(find(request, None))
    assert found.experiment is None


def test_arms_are_even_and_differ_by_number_and_tenant(query: Query) -> None:
    [counts] = query(
        "SELECT count(*) FILTER (WHERE a = 'off') AS off, count(*) FILTER (WHERE a = 'default') AS default, "
        "count(*) FILTER (WHERE a = 'other') AS other, count(*) FILTER (WHERE a = b) AS same, "
        "count(*) FILTER (WHERE a = c) AS other_tenant "
        "FROM generate_series(1, 30000) n, recall_private.experiment_arm('acme', 1, 's' || n) a, "
        "recall_private.experiment_arm('acme', 2, 's' || n) b, recall_private.experiment_arm('globex', "
        "1, 's' || n) c"
    )
    assert all(9700 < count < 10300 for count in counts.values()), counts


# The report


def test_too_few_sessions_are_not_concluded_from(memory: Memory, query: Query) -> None:
    one = memory.remember("The tide turns at noon.").id
    history(query, {"off": (100, 0), "default": (100, 100), "other": (100, 50)}, one)
    report = memory.quality.experiment()
    assert (report.refused, report.needed, report.missing) == ("too_few", 476, 1128)
    assert [one.verdict for one in report.differences] == [None, None]
    assert report.conclusion == (
        "Too little to conclude from: each arm needs 476 sessions, and 1,128 more are to come in all."
    )


def test_enough_sessions_are(memory: Memory, query: Query) -> None:
    one = memory.remember("The tide turns at noon.").id
    history(query, {"off": (480, 144), "default": (500, 250), "other": (490, 250)}, one)
    report = memory.quality.experiment()
    assert (report.refused, report.missing) == (None, 0)
    default = report.arms[1]
    assert (default.sessions, default.used, default.share) == (500, 250, 0.5)
    assert (default.low, default.high) == pytest.approx((0.4563, 0.5437), abs=1e-4)
    assert [one.verdict for one in report.differences] == ["worse", "no_difference"]
    worse = report.differences[0]
    # By hand: Newcombe's method 10 with z = 2.2414.
    assert (worse.difference, worse.low, worse.high) == pytest.approx((-0.2, -0.2664, -0.1307), abs=2e-3)
    assert "With `off`, what is shown is used less often than with `default`" in report.conclusion
    assert "`other` is not distinguishable from `default`" in report.conclusion
    assert memory.quality.experiment(difference=0.05).refused == "too_few"


def test_sessions_count_once_however_much_they_search(memory: Memory, query: Query) -> None:
    one = memory.remember("The tide turns at noon.").id
    history(query, {"off": (2, 1), "default": (2, 1), "other": (2, 1)}, one)
    query(
        "INSERT INTO recall.search_log "
        "(tenant, at, session_id, query, profile, shown, experiment, arm, arm_weight) "
        "SELECT 'acme', %s, 'off2', 'q', 'balanced', ARRAY[%s]::bigint[], 1, 'off', 0 "
        "FROM generate_series(1, 98)",
        (NOW, one),
    )
    [off, *_] = memory.quality.experiment().arms
    assert (off.sessions, off.searches, off.used, off.share, off.reciprocal_rank) == (2, 100, 1, 0.5, 0.5)


def test_an_experiment_that_cannot_be_trusted_draws_no_conclusion(memory: Memory, query: Query) -> None:
    one = memory.remember("The tide turns at noon.").id
    history(query, {"off": (480, 0), "default": (480, 0), "other": (480, 0)}, one, number=1)
    assert memory.quality.experiment(1).refused == "no_use"
    history(query, {"off": (480, 100), "default": (480, 100), "other": (700, 100)}, one, number=2)
    unequal = memory.quality.experiment(2)
    assert unequal.refused == "unequal"
    assert "(off 480, default 480, other 700)" in unequal.conclusion
    history(query, {"off": (480, 100), "default": (480, 100), "other": (480, 100)}, one, number=3)
    assert memory.quality.experiment(3).refused is None
    query("UPDATE recall.search_log SET arm_weight = 0.6 WHERE experiment = 3 AND session_id = 'default7'")
    changed = memory.quality.experiment(3)
    assert changed.refused == "weights_changed"
    assert [one.verdict for one in changed.differences] == [None, None]


def test_the_running_one_is_reported_else_the_newest(memory: Memory, query: Query) -> None:
    one = memory.remember("The tide turns at noon.").id
    history(query, {"off": (1, 0)}, one, number=4)
    missing = memory.quality.experiment(5)
    assert (missing.refused, missing.conclusion) == ("no_experiment", "No search of experiment 5 is logged.")
    newest = memory.quality.experiment()
    assert (newest.number, newest.running) == (4, False)
    memory.settings.set("search.experiment", 5)
    assert (memory.quality.experiment().number, memory.quality.experiment().running) == (5, True)


@pytest.mark.parametrize(
    ("number", "difference"),
    [(0, 0.1), (1_000_001, 0.1), (True, 0.1), ("one", 0.1), (None, 0.0), (None, 0.6), (None, float("nan"))],
)
def test_bad_input(memory: Memory, number: Any, difference: float) -> None:
    with pytest.raises(InvalidInput):
        memory.quality.experiment(number, difference=difference)


@pytest.mark.parametrize("value", [-1, 1_000_001])
def test_the_setting_has_bounds(memory: Memory, value: float) -> None:
    with pytest.raises(InvalidInput, match=r"search\.experiment"):
        memory.settings.set("search.experiment", value)


@pytest.mark.parametrize(
    "told", ['{"number": 1}', '{"number": 1.5, "arm": "off", "weight": 0}', '"off"', '[]',
             '{"number": 1, "arm": "loud", "weight": 0}', '{"number": 1, "arm": "off", "weight": 11}']
)  # fmt: skip
def test_what_is_logged_of_an_experiment_is_checked(memory: Memory, query: Query, told: str) -> None:
    one = memory.remember("The tide turns at noon.").id
    with pytest.raises(Exception, match=r"The experiment .* is not valid"):
        query(
            "SELECT recall.log_shown(ARRAY[%s]::bigint[], 's', now(), 'q', NULL, NULL, %s::jsonb)",
            (one, told),
        )
    assert logged(query) == []


def test_another_tenant_is_not_part_of_it(memory: Memory, query: Query) -> None:
    one = memory.remember("The harbour report.").id
    begin(memory)
    history(query, {"off": (3, 1)}, one)
    other = memory.for_tenant("globex")
    other.remember("The harbour report.")
    found = other.search("harbour", session_id="s1")
    [row] = query("SELECT arm FROM recall.search_log WHERE id = %s AND tenant = 'globex'", (found.search_id,))
    assert row["arm"] is None
    assert other.quality.experiment(1).arms[0].sessions == 0
