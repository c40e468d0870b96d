"""Quality: use by rank with intervals, unanswered queries, misses, and replays."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall import Draft, InvalidInput, Memory, MemoryNotFound, Quality
from pgrecall.search.replays import share_of
from tests.conftest import NOW
from tests.databases import Query

pytestmark = pytest.mark.in_turns


def shown(query: Query, question: str, ids: list[int], session: str | None = None) -> int:
    """A search that has shown these memories; its id."""
    [row] = query("SELECT recall.log_shown(%s, %s, %s, %s) AS id", (ids, session, NOW, question))
    return int(row["id"])


def note(memory: Memory, body: str, **fields: Any) -> int:
    [stored] = memory.remember_many([Draft(body, **fields)], now=NOW - timedelta(days=1))
    return stored.id


# What was used


def test_nothing_logged_is_nothing_known(memory: Memory) -> None:
    found = memory.quality.report()
    assert isinstance(found, Quality)
    assert (found.searches, found.empty, found.followed, found.ranks, found.unanswered) == (0, 0, 0, (), ())
    assert (found.answered.value, found.answered.low) == (None, None)
    assert found.conclusion.startswith("Too little to conclude from: the outcome of 0 searches is known")


def test_use_is_counted_by_rank_from_verdicts_and_from_accesses_of_the_session(
    memory: Memory, query: Query
) -> None:
    first, second = note(memory, "The tide turns at noon."), note(memory, "The ferry leaves at one.")
    judged = shown(query, "when does the tide turn?", [first, second])
    memory.used(judged, [first], now=NOW)
    memory.rejected(judged, [second], now=NOW)
    followed = shown(query, "when does the ferry leave?", [first, second], session="s1")
    memory.record_access(
        second, "used", at=NOW + timedelta(minutes=5), session_id="s1", now=NOW + timedelta(days=1)
    )
    # Of another session, and too late: they say nothing of these searches.
    shown(query, "where?", [first], session="s2")
    memory.record_access(
        first, "used", at=NOW + timedelta(hours=3), session_id="s2", now=NOW + timedelta(days=1)
    )
    memory.record_access(
        first, "used", at=NOW + timedelta(minutes=9), session_id="s3", now=NOW + timedelta(days=1)
    )
    shown(query, "what is the gate code?", [])
    found = memory.quality.report()
    assert (found.searches, found.empty, found.followed) == (4, 1, 2)
    assert (found.answered.count, found.answered.total, found.answered.value) == (2, 2, 1.0)
    one, two = found.ranks
    assert (one.rank, one.shown, one.rejected, one.share.count, one.share.total) == (1, 3, 0, 1, 2)
    assert (two.rank, two.shown, two.rejected, two.share.count, two.share.total) == (2, 2, 1, 1, 2)
    assert one.share.low is not None
    assert 0.09 < one.share.low < 0.1
    assert followed > judged
    assert memory.quality.report(since=NOW + timedelta(days=1)).searches == 0
    assert memory.quality.report(limit=1).searches == 1


def test_enough_searches_are_concluded_from(memory: Memory, query: Query) -> None:
    one = note(memory, "The tide turns at noon.")
    for number in range(30):
        search = shown(query, f"question {number}", [one])
        (memory.used if number % 3 else memory.rejected)(search, [one], now=NOW)
    conclusion = memory.quality.report().conclusion
    assert conclusion == (
        "Of 30 searches with a known outcome, 67 % showed a memory that was then used "
        "(95 % interval 49 % to 81 %)."
    )


def test_questions_that_nothing_answered(memory: Memory, query: Query) -> None:
    one = note(memory, "The tide turns at noon.")
    shown(query, "What is the  gate code?", [])
    shown(query, "what is the gate code? ", [])
    refused = shown(query, "who owns the boat?", [one])
    memory.rejected(refused, [one], now=NOW)
    shown(query, "unjudged", [one])
    answered = shown(query, "tide?", [])
    memory.used(shown(query, "Tide?", [one]), [one], now=NOW)
    first, second = memory.quality.report().unanswered
    assert (first.query.strip(), first.times, first.empty, first.rejected) == (
        "what is the gate code?",
        2,
        2,
        0,
    )
    assert (second.query, second.times, second.empty, second.rejected) == ("who owns the boat?", 1, 0, 1)
    assert second.search_id == refused != answered
    assert len(memory.quality.report(unanswered=1).unanswered) == 1


@pytest.mark.parametrize(
    "bounds", [{"limit": 0}, {"limit": 100_001}, {"unanswered": 0}, {"unanswered": True}]
)
def test_reports_are_bounded(memory: Memory, bounds: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memory.quality.report(**bounds)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_share_and_narrows(pair: tuple[int, int]) -> None:
    count, total = pair
    share, more = share_of(count, total), share_of(count * 10, total * 10)
    assert share.low is not None
    assert share.high is not None
    assert 0 <= share.low <= count / total <= share.high <= 1
    assert more.low is not None
    assert more.high is not None
    assert more.high - more.low < share.high - share.low


def test_the_interval_in_sql_is_the_same(query: Query) -> None:
    for count, total in ((0, 1), (1, 1), (3, 10), (500, 1000)):
        [row] = query("SELECT * FROM recall_private.wilson_interval(%s, %s)", (count, total))
        assert (row["low"], row["high"]) == pytest.approx(
            (share_of(count, total).low, share_of(count, total).high)
        )
    assert query("SELECT * FROM recall_private.wilson_interval(0, 0)") in ([], [{"low": None, "high": None}])


# Misses


def test_a_memory_that_is_found_and_one_that_ranks_lower(memory: Memory) -> None:
    best = note(memory, "The harbour contract is signed on Friday.")
    other = note(memory, "The harbour gauge is read at dawn.")
    found = memory.quality.miss("when is the harbour contract signed?", best, k=1)
    assert (found.outcome, found.rank, found.filters) == ("found", 1, ())
    assert found.sentence == "It is found at rank 1; the search shows 1."
    lower = memory.quality.miss("when is the harbour contract signed?", other, k=1)
    assert (lower.outcome, lower.rank, lower.k) == ("ranked_lower", 2, 1)
    assert lower.score is not None
    assert lower.last_score is not None
    assert lower.score < lower.last_score
    lexical = lower.arms["lexical"]
    assert (lexical["held"], lexical["missing"]) == (["harbour"], ["contract", "sign"])
    assert lexical["limit"] == 50
    assert "similarity" in lower.arms["semantic"]


def test_filters_that_hide_it_are_named(memory: Memory) -> None:
    one = note(memory, "The harbour contract is signed.", tags=("old",), layer="knowledge")
    hidden = memory.quality.miss("harbour contract", one, layers=("episodic",), tags=("new",), since=NOW)
    assert hidden.outcome == "filtered"
    assert hidden.filters == ("layers", "tags", "since")
    assert hidden.rank == 1
    assert hidden.sentence == "Filters hide it: layers, tags, since; it would rank 1 without them."
    memory.forget(one)
    assert memory.quality.miss("harbour contract", one).filters == ("archived",)
    assert memory.quality.miss("harbour contract", one, include_archived=True).outcome == "found"


def test_bounds_that_keep_it_out(memory: Memory) -> None:
    one = note(memory, "The harbour contract is signed.")
    low = memory.quality.miss("harbour", one, min_relevance=0.999)
    assert low.outcome == "too_irrelevant"
    assert "below min_relevance 1.00" in low.sentence
    memory.settings.set("search.min_confidence", 1.0)
    unsure = memory.quality.miss("harbour", one, require_answer=True)
    assert unsure.outcome == "not_confident"
    assert unsure.confidence is not None
    memory.settings.reset("search.min_confidence")


def test_what_lies_beyond_the_arms(memory: Memory, query: Query) -> None:
    for number in range(120):
        note(memory, f"harbour harbour harbour contract {number}")
    last = note(
        memory, "A long text about many other things, and at its end the harbour. " + "Filler words. " * 40
    )
    weights = {"semantic": 0.0, "graph": 0.0}
    far = memory.quality.miss("harbour", last, weights=weights)
    assert far.outcome == "beyond_pool"
    assert far.rank is not None
    assert far.rank > 50
    assert "keeps its best 50" in far.sentence
    nothing = note(memory, "Nothing of it.")
    missed = memory.quality.miss("harbour", nothing, weights=weights)
    assert (missed.outcome, missed.rank, missed.score) == ("not_found", None, None)
    assert missed.sentence.startswith("Nothing finds it among the best 1,000: ")
    assert "it holds none of the words" in missed.sentence


def test_a_memory_without_a_vector_and_a_question_without_one(memory: Memory, query: Query) -> None:
    [row] = query("SELECT recall.remember('Nothing of it.') AS id", tenant="acme")
    missed = memory.quality.miss("harbour", row["id"])
    assert missed.outcome == "not_found"
    assert missed.arms["semantic"]["reason"] == "The memory has no vector yet."
    assert "best 1,000: the memory has no vector yet, and" in missed.sentence


def test_misses_log_nothing_and_refuse_what_a_search_refuses(memory: Memory, query: Query) -> None:
    one = note(memory, "The harbour contract is signed.")
    memory.quality.miss("harbour", one)
    assert query("SELECT FROM recall.search_log") == []
    assert query("SELECT FROM recall.access WHERE kind = 'retrieval'") == []
    with pytest.raises(MemoryNotFound):
        memory.quality.miss("harbour", 4711)
    with pytest.raises(MemoryNotFound):
        memory.quality.miss("harbour", "no such key")
    with pytest.raises(InvalidInput):
        memory.quality.miss("", one)
    with pytest.raises(InvalidInput):
        memory.quality.miss("harbour", one, weights={"taste": 1.0})


def test_failed_filters_agree_with_the_filter(memory: Memory, query: Query) -> None:
    """For memories of all kinds and filters of all kinds: none fails exactly where the memory passes."""
    note(memory, "plain")
    note(memory, "tagged", tags=("a", "b"), author="Mira", role="user", source="notes", metadata={"n": 1})
    note(memory, "later", valid_from=NOW + timedelta(days=9))
    note(memory, "over", valid_until=NOW - timedelta(hours=1), layer="episodic")
    note(memory, "expired", expires_at=NOW - timedelta(hours=1))
    memory.forget(note(memory, "gone"), now=NOW)
    memory.supersede(note(memory, "old"), note(memory, "new"), now=NOW)
    filters = [
        "{}", '{"include_archived": true}', '{"include_superseded": true}', '{"include_invalid": true}',
        '{"layers": ["episodic"]}', '{"roles": ["user"]}', '{"authors": ["Mira"]}', '{"tags": ["a"]}',
        '{"sources": ["notes"]}', '{"metadata": {"n": 1}}', '{"hints": ["tagged"]}',
        '{"since": "2026-06-01"}', '{"until": "2026-01-01"}', '{"as_of": "2026-05-31T13:00:00Z"}',
    ]  # fmt: skip
    for document in filters:
        rows = query(
            "SELECT m.body, recall_private.failed_filters(m, f) AS failed, "
            "recall_private.passes_filter(m, f) AS passes "
            "FROM recall.memory m, recall_private.checked_filter('acme', "
            "recall_private.read_filter(%s::jsonb), %s) f "
            "WHERE m.tenant = 'acme'",
            (document, NOW),
        )
        assert len(rows) == 8
        for row in rows:
            assert (row["failed"] == []) == row["passes"], (document, row)


# Replays


def logged(memory: Memory, question: str, use: int | None = None) -> None:
    result = memory.search(question)
    if use is not None:
        assert result.search_id is not None
        memory.used(result.search_id, [use])


def test_a_replay_reports_what_other_settings_change(memory: Memory, query: Query) -> None:
    lively = memory.remember("The harbour report of last week, with much else in it.").id
    exact = memory.remember("The harbour report.").id
    for minutes in range(6):
        memory.record_access(lively, "used", session_id=f"s{minutes}")
    logged(memory, "the harbour report", exact)
    logged(memory, "a question that finds nothing at all: xylophone")
    before = (
        query("SELECT count(*) AS n FROM recall.access"),
        query("SELECT count(*) AS n FROM recall.search_log"),
    )
    found = memory.quality.replay(vitality_weight=10.0)
    assert (found.searches, found.refused) == (2, 0)
    assert found.judged == 1
    assert found.same + len(found.moved) == 2
    assert found.worse == 1
    assert found.gain is not None
    assert found.gain < 0
    assert (found.gain_low, found.gain_high) == (None, None)
    assert found.conclusion.startswith("Too little to conclude from: 1 of these searches")
    assert {arm.arm for arm in found.arms} >= {"semantic", "lexical"}
    [lexical] = [arm for arm in found.arms if arm.arm == "lexical"]
    assert lexical.share.count == 1
    moved = found.moved[0]
    assert moved.used == (exact,)
    assert moved.before[0] == exact
    assert moved.after[0] == lively
    after = (
        query("SELECT count(*) AS n FROM recall.access"),
        query("SELECT count(*) AS n FROM recall.search_log"),
    )
    assert before == after  # it only reads
    assert len(memory.quality.replay(vitality_weight=10.0, moved=0).moved) == 0
    assert memory.quality.replay(vitality_weight=10.0, limit=1).searches == 1


def test_the_same_settings_move_nothing(memory: Memory) -> None:
    one = memory.remember("The harbour report.").id
    memory.remember("The harbour gauge.")
    for _ in range(30):
        logged(memory, "harbour report", one)
    found = memory.quality.replay(vitality_weight=0.5)
    assert (found.searches, found.same, found.same_first, found.overlap) == (30, 30, 30, 1.0)
    assert (found.judged, found.better, found.worse, found.gain) == (30, 0, 0, 0.0)
    assert found.conclusion.startswith(
        "The difference is not distinguishable from chance (95 % interval +0.000 to +0.000"
    )


def test_a_search_whose_profile_is_gone_is_left_out(memory: Memory, query: Query) -> None:
    memory.remember("The harbour report.")
    logged(memory, "harbour report")
    query("UPDATE recall.search_log SET profile = 'no-such'")
    found = memory.quality.replay(vitality_mode="off")
    assert (found.searches, found.refused, found.overlap) == (0, 1, None)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"weights": {"taste": 1.0}},
        {"weights": {"lexical": 11.0}},
        {"vitality_weight": -1.0},
        {"vitality_mode": "loud"},
        {"profile": "no-such"},
        {"vitality_mode": "off", "k": 0},
        {"vitality_mode": "off", "k": 101},
        {"vitality_mode": "off", "limit": 0},
        {"vitality_mode": "off", "limit": 1001},
        {"vitality_mode": "off", "moved": -1},
    ],
)
def test_replays_are_bounded_and_checked_even_without_a_log(memory: Memory, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memory.quality.replay(**change)


def test_another_tenant_sees_nothing_of_it(memory: Memory, query: Query) -> None:
    one = note(memory, "The harbour contract is signed.")
    shown(query, "harbour", [one])
    other = memory.for_tenant("globex")
    assert other.quality.report().searches == 0
    assert other.quality.replay(vitality_mode="off").searches == 0
    with pytest.raises(MemoryNotFound):
        other.quality.miss("harbour", one)
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        query("SELECT recall.quality(NULL, 0)")
