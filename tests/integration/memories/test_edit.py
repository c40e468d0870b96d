"""Editing a memory changes what is given, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.errors import InvalidInput, MemoryNotFound
from pgrecall.nouns.memories.models import Draft, DraftLink

pytestmark = pytest.mark.in_turns


@pytest.fixture
def filled(memory: Memory) -> Memory:
    draft = Draft(
        "Mira signs the contract on Friday", title="Contract", key="contract", tags=("harbour",),
        source="notes", metadata={"page": 3}, links=(DraftLink("harbour"),),
    )  # fmt: skip
    memory.remember_many([Draft("The harbour", key="harbour"), draft])
    return memory


def test_only_what_is_given_changes(filled: Memory) -> None:
    before = filled.get("contract")
    changed = filled.edit("contract", tags=("signed", "harbour"), author="Mira")
    after = filled.get("contract")
    assert (changed.id, changed.key, changed.outcome) == (before.id, "contract", "updated")
    assert changed.changed == ("author", "tags")
    assert (after.tags, after.author) == (("signed", "harbour"), "Mira")
    kept = ("title", "body", "layer", "source", "metadata", "created_at", "links", "embedded_with")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert after.vitality.accesses == before.vitality.accesses


def test_a_new_text_is_found_and_the_old_one_is_not(filled: Memory) -> None:
    filled.edit("contract", body="Tomas keeps a barometer")
    assert [hit.key for hit in filled.search("barometer").hits][:1] == ["contract"]
    assert filled.get("contract").links[0].other_key == "harbour"


def test_the_same_values_change_nothing(filled: Memory) -> None:
    before = filled.get("contract")
    same = filled.edit("contract", body=before.body, tags=before.tags, metadata={"page": 3})
    assert (same.outcome, same.changed) == ("unchanged", ())
    assert filled.edit("contract", body=before.body, author="Mira").changed == ("author",)
    before = filled.get("contract")
    assert filled.edit("contract").outcome == "unchanged"
    assert filled.get("contract").updated_at == before.updated_at


def test_fields_are_emptied(filled: Memory) -> None:
    filled.edit("contract", title=None, tags=None, metadata=None)
    after = filled.get("contract")
    assert (after.title, after.tags, dict(after.metadata)) == ("", (), {})


def test_a_memory_without_key_is_edited_by_id(memory: Memory) -> None:
    stored = memory.remember("A note")
    assert memory.edit(stored.id, body="A better note").outcome == "updated"
    assert memory.get(stored.id).body == "A better note"


def test_a_new_title_resolves_links_that_wait_for_it(memory: Memory) -> None:
    memory.remember("Links to a name", links=(DraftLink("Barometer"),))
    stored = memory.remember("An instrument")
    memory.edit(stored.id, title="Barometer")
    assert [link.relation for link in memory.get(stored.id).links] == ["links_to"]


def test_another_layer_has_another_decay(filled: Memory) -> None:
    before = filled.get("contract").vitality.tail
    filled.edit("contract", layer="activity")
    assert filled.get("contract").layer == "activity"
    assert before == filled.get("contract").vitality.tail


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"body": "", "title": ""}, "neither a title nor a body"),
        ({"layer": "nowhere"}, "layer 'nowhere' is unknown"),
        ({"key": "x"}, "key cannot be edited"),
        ({"pinned": True}, "pinned cannot be edited"),
        ({"occurred_at": datetime(2999, 1, 1, tzinfo=UTC)}, "lies in the future"),
        ({"tags": "a"}, "tags are not a JSON array"),
        ({"role": "king"}, "role 'king'"),
    ],
)
def test_bad_values_change_nothing(filled: Memory, changes: Any, words: str) -> None:
    before = filled.get("contract")
    with pytest.raises(InvalidInput, match=words):
        filled.edit("contract", **({"author": "x"} | changes))
    assert filled.get("contract") == before


def test_a_memory_that_is_not_there(memory: Memory) -> None:
    for reference in ("nobody", 999):
        with pytest.raises(MemoryNotFound):
            memory.edit(reference, body="x")
