"""Summaries beside the memories that they are derived from: in a context, and when a source changes."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from pgrecall import ContextBlock, Draft, DraftLink, InvalidInput, Memory
from pgrecall.importers.jsonl import read_jsonl
from pgrecall.nouns.search.models import ConversationTurn
from tests.databases import Query
from tests.integration.links.test_links import cited, pending

pytestmark = pytest.mark.in_turns

HOUR = timedelta(hours=1)
LENGTH = "The harbour crane lifts forty tonnes since Mira repaired its brake"
OWNER = "The harbour crane belongs to the port, and Tom pays for its oil"


@pytest.fixture
def crane(memory: Memory, now: datetime) -> Memory:
    """Two facts of a crane, and what an agent made of them."""
    memory.remember_many([Draft(LENGTH, key="lift"), Draft(OWNER, key="owner")], now=now)
    sources = (DraftLink("lift", "derived_from"), DraftLink("owner", "derived_from"))
    memory.remember_many(
        [Draft("The harbour crane: port's, forty tonnes", key="summary", links=sources)], now=now + HOUR
    )
    return memory


def shown(block: ContextBlock) -> set[str | None]:
    return {hit.key for hit in block.hits}


def context(memory: Memory, query: str = "harbour crane") -> ContextBlock:
    return memory.context(query, min_relevance=0, require_answer=False)


def states(query: Query) -> list[tuple[str, str]]:
    rows = query(
        "SELECT coalesce(m.key, '') AS key, d.state "
        "FROM recall.derivations(ARRAY(SELECT id FROM recall.memory)) d "
        "LEFT JOIN recall.memory m ON m.id = d.source ORDER BY 1"
    )
    return [(row["key"], row["state"]) for row in rows]


@pytest.mark.parametrize("query", ["harbour crane", "the harbour crane port's forty tonnes"])
def test_a_summary_and_its_sources_are_never_both_shown(crane: Memory, query: str) -> None:
    block = context(crane, query)
    assert shown(block) in ({"summary"}, {"lift", "owner"})
    assert {one.reason for one in block.left_out} == {"derived"}
    assert all(one.other is not None for one in block.left_out)


def test_a_source_that_changed_wins_and_its_summary_is_listed(
    crane: Memory, query: Query, now: datetime
) -> None:
    assert crane.stale_summaries() == ()
    crane.edit("lift", body=LENGTH.replace("forty", "thirty"), now=now + 2 * HOUR)
    assert states(query) == [("lift", "changed"), ("owner", "current")]
    block = context(crane, "the harbour crane port's forty tonnes")
    assert shown(block) == {"lift", "owner"}
    [left] = [one for one in block.left_out if one.key == "summary"]
    assert (left.reason, left.detail) == ("derived", f"its source id {left.other} changed after it")
    [stale] = crane.stale_summaries()
    assert (stale.key, stale.changed, stale.forgotten) == ("summary", 1, 0)
    assert crane.stale_summaries(after=stale.id) == ()
    crane.edit("summary", body="The harbour crane: port's, thirty tonnes", now=now + 3 * HOUR)
    assert crane.stale_summaries() == ()


def test_a_changed_source_that_is_not_found_leaves_the_summary_with_a_note(
    crane: Memory, now: datetime
) -> None:
    crane.edit("lift", body="Nothing of the kind", now=now + 2 * HOUR)
    block = crane.context("crane port's", min_relevance=0, require_answer=False, k=1)
    assert shown(block) == {"summary"}
    assert "a source of it has changed since" in block.text


def test_a_source_that_the_summary_itself_replaces_is_no_news(
    crane: Memory, query: Query, now: datetime
) -> None:
    crane.supersede("lift", "summary", now=now + 2 * HOUR)
    assert states(query) == [("lift", "current"), ("owner", "current")]


@pytest.mark.parametrize("hard", [False, True])
def test_a_forgotten_source_marks_the_summary(crane: Memory, query: Query, hard: bool) -> None:
    crane.forget("lift", hard=hard)
    assert states(query) == [("" if hard else "lift", "forgotten"), ("owner", "current")]
    [stale] = crane.stale_summaries()
    assert (stale.key, stale.changed, stale.forgotten) == ("summary", 0, 1)
    block = crane.context("port's forty tonnes", min_relevance=0, require_answer=False, k=1)
    assert "a source of it was forgotten" in block.text
    assert all(not check.problems for check in crane.maintenance.verify())
    if not hard:
        crane.unarchive("lift")
        assert crane.stale_summaries() == ()
        return
    assert "lift" not in "".join(pending(query)), "nothing of the source is kept"
    crane.remember("The crane: port's", key="summary", links=[DraftLink("owner", "derived_from")])
    assert crane.stale_summaries() == ()


def test_a_summary_that_is_deleted_with_its_source_leaves_nothing(crane: Memory, query: Query) -> None:
    crane.forget("summary", hard=True)
    crane.forget("lift", hard=True)
    assert pending(query) == []


def test_a_summary_can_come_before_its_sources(memory: Memory, query: Query, now: datetime) -> None:
    memory.remember_many([Draft("Tides", key="tides", links=(DraftLink("log", "derived_from"),))], now=now)
    assert states(query) == [("", "missing")]
    assert memory.stale_summaries() == ()
    memory.remember_many([Draft("High water at six", key="log", occurred_at=now - HOUR)], now=now + HOUR)
    assert states(query) == [("log", "current")], "it happened before the summary was written"


def test_prune_counts_a_summary(crane: Memory, query: Query) -> None:
    lift = crane.get("lift").id
    assert cited(query, lift)[0] == 1
    [row] = query("SELECT impact FROM recall_private.link_impacts('acme', ARRAY[%s])", (lift,))
    assert row["impact"]["links_in"] == 1


def test_other_tenants_have_their_own(crane: Memory, query: Query) -> None:
    crane.forget("lift")
    assert query("SELECT * FROM recall.stale_summaries()", tenant="other") == []
    ids = "SELECT * FROM recall.derivations(ARRAY[1, 2, 3, 4]::bigint[])"
    assert query(ids, tenant="other") == []


def test_limits(memory: Memory, query: Query) -> None:
    with pytest.raises(InvalidInput):
        memory.stale_summaries(-1)
    with pytest.raises(psycopg.Error, match="limit is 200"):
        query("SELECT * FROM recall.derivations(ARRAY(SELECT generate_series(1, 201)::bigint))")


@pytest.mark.parametrize("key", ["crane-summary", None])
def test_a_summary_that_is_imported_again_stays_one(
    crane: Memory, query: Query, tmp_path: Path, key: str | None
) -> None:
    record = {
        "body": "Forty tonnes, oiled by Tom.",
        "links": [{"target": "lift", "relation": "derived_from"}],
        **({"key": key} if key else {}),
    }
    (file := tmp_path / "outside.jsonl").write_text(json.dumps(record) + "\n")
    for _ in range(2):
        crane.import_drafts(read_jsonl(file, source="outside"), source="outside", strict=True)
    [row] = query("SELECT count(*) AS n FROM recall.memory WHERE body = 'Forty tonnes, oiled by Tom.'")
    assert row["n"] == 1
    assert len([one for one in states(query) if one == ("lift", "current")]) == 2


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_context_of_a_conversation_shows_a_summary_or_its_sources(crane: Memory, share: float) -> None:
    turns = [ConversationTurn("user", "Let us speak about the harbour crane and its oil.")]
    block = crane.context(
        "and how many tonnes is that?",
        conversation=turns,
        min_relevance=0,
        require_answer=False,
        state_share=share,
    )
    assert "summary" in shown(block) or {"lift", "owner"} & shown(block)
    assert not ("summary" in shown(block) and {"lift", "owner"} & shown(block))
    # Told by the conversation, the summary is in the prompt: its sources may be shown.
    told = [ConversationTurn("assistant", "The harbour crane: port's, forty tonnes")]
    block = crane.context(
        "harbour crane", conversation=told, min_relevance=0, require_answer=False, state_share=share
    )
    assert "summary" not in shown(block)
