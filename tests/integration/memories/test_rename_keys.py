"""Renaming keys: what a memory keeps, which keys are passed over, and what is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import psycopg
import pytest

from pgrecall import Draft, InvalidInput, Memory
from pgrecall.nouns.memories.models import DraftLink
from tests.databases import Query

pytestmark = pytest.mark.in_turns

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def store(memory: Memory, *keys: str, source: str = "notes") -> list[int]:
    drafts = [Draft(f"The {key} of the harbour", key=key, source=source) for key in keys]
    return [stored.id for stored in memory.remember_many(drafts, now=NOW)]


def keys(query: Query) -> dict[int, str]:
    return {row["id"]: row["key"] for row in query("SELECT id, key FROM recall.memory")}


def test_a_memory_keeps_its_id_links_accesses_and_versions(memory: Memory) -> None:
    winch, _ = store(memory, "winch", "yard")
    memory.link("winch", "yard", now=NOW)
    memory.record_access("winch", "used", at=NOW, now=NOW)
    memory.edit("winch", tags=("iron",), now=NOW)
    before = memory.get("winch", now=NOW)
    assert memory.rename_keys("notes", {"winch": "dock/winch"}, now=NOW) == 1
    after = memory.get("dock/winch", now=NOW)
    assert (after.id, after.body, after.tags, after.links) == (winch, before.body, before.tags, before.links)
    assert (after.vitality, after.access_counts) == (before.vitality, before.access_counts)
    assert len(memory.history.versions("dock/winch")) == 2
    assert not any(check.problems for check in memory.maintenance.verify())


def test_a_link_that_waits_for_the_new_key_leads_to_it(memory: Memory) -> None:
    memory.remember("See the dock", key="plan", links=(DraftLink("dock/winch"),))
    [winch] = store(memory, "winch")
    assert memory.rename_keys("notes", {"winch": "dock/winch"}) == 1
    assert [link.other for link in memory.get("plan").links] == [winch]
    assert not any(check.problems for check in memory.maintenance.verify())


def test_readers_of_changes_learn_of_a_new_key(memory: Memory, query: Query) -> None:
    [winch] = store(memory, "winch")
    memory.rename_keys("notes", {"winch": "dock/winch"}, now=NOW)
    rows = query("SELECT memory_id, kind FROM recall.memory_change ORDER BY id")
    assert [(row["memory_id"], row["kind"]) for row in rows] == [(winch, "new"), (winch, "rewritten")]


def test_what_is_passed_over(memory: Memory, query: Query) -> None:
    winch, yard, tide = store(memory, "winch", "yard", "tide")
    [other] = store(memory, "other", source="chats")
    memory.forget("tide")
    renamed = memory.rename_keys(
        "notes", {"winch": "yard", "tide": "ebb", "other": "mine", "missing": "found", "yard": "dock"}
    )
    assert renamed == 1
    assert keys(query) == {winch: "winch", yard: "dock", tide: "tide", other: "other"}
    assert memory.rename_keys("notes", {}) == 0


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ('{"winch": ""}', 'The new key "" cannot be stored.'),
        ('{"winch": 3}', "The new key 3 cannot be stored."),
        ('{"winch": "a", "yard": "a"}', 'The new key "a" is given to two memories.'),
        ("[]", "p_keys must be a JSON object of new keys by present ones."),
        (None, "p_keys must be a JSON object of new keys by present ones."),
    ],
)
def test_what_is_refused(memory: Memory, query: Query, wanted: str | None, sentence: str) -> None:
    store(memory, "winch", "yard")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=re.escape(sentence)):
        query("SELECT recall.rename_keys('notes', %s::jsonb)", (wanted,))
    assert sorted(keys(query).values()) == ["winch", "yard"]


def test_a_key_that_is_too_long_is_refused(memory: Memory) -> None:
    store(memory, "winch")
    with pytest.raises(InvalidInput, match="cannot be stored"):
        memory.rename_keys("notes", {"winch": "k" * 1001})
