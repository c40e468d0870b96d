"""A text that is there already is not stored again; a similar one is stored, and the other named."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.nouns.memories.models import Draft, DraftLink, Similar

pytestmark = pytest.mark.in_turns

Query = Callable[..., list[Any]]
TEXT = "The spare key hangs behind the harbour clock."


def test_a_text_that_is_there_is_unchanged(memory: Memory) -> None:
    first = memory.remember(TEXT, key="key", tags=("home",), metadata={"room": 1})
    accesses = memory.get("key").vitality.accesses
    again = memory.remember(TEXT)
    assert (again.id, again.key, again.outcome, again.similar) == (first.id, "key", "unchanged", None)
    assert memory.remember(TEXT, tags=("home",), metadata={"room": 1}).outcome == "unchanged"
    assert memory.get("key").vitality.accesses == accesses
    assert memory.status().memories == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"tags": ("other",)}, {"layer": "episodic"}, {"author": "Mira"}, {"metadata": {"room": 2}},
        {"title": "Key"}, {"occurred_at": datetime(2026, 1, 1, tzinfo=UTC)}, {"key": "another"},
        {"session_id": "s"}, {"links": (DraftLink("x"),)},
    ],
)  # fmt: skip
def test_the_same_text_with_more_is_stored_and_called_similar(memory: Memory, fields: dict[str, Any]) -> None:
    first = memory.remember(TEXT, key="key", tags=("home",))
    stored = memory.remember(TEXT, **fields)
    assert (stored.outcome, stored.similar) == ("created", Similar(first.id, "key", 1.0))
    assert memory.status().memories == 2


def test_case_punctuation_and_space_make_a_text_similar(memory: Memory) -> None:
    first = memory.remember(TEXT)
    stored = memory.remember("the spare key hangs\nbehind the HARBOUR clock")
    assert (stored.outcome, stored.similar) == ("created", Similar(first.id, None, 1.0))


def test_what_no_longer_holds_is_not_repeated(memory: Memory) -> None:
    memory.remember(TEXT, key="old")
    memory.remember("The spare key is with the neighbour.", key="new")
    memory.supersede("old", "new")
    assert memory.remember(TEXT).outcome == "created"
    memory.remember("!!!", key="marks")
    assert memory.remember("???").similar is None
    memory.remember("A note to forget", key="gone")
    memory.forget("gone")
    assert (memory.remember("A note to forget").outcome, memory.remember(TEXT, compare=False).outcome) == (
        "created", "created",
    )  # fmt: skip


def test_a_memory_is_not_similar_to_itself(memory: Memory) -> None:
    memory.remember(TEXT, key="key")
    assert memory.remember(TEXT, key="key").outcome == "unchanged"
    changed = memory.remember(TEXT + " Really.", key="key")
    assert (changed.outcome, changed.similar) == ("updated", None)


@pytest.mark.parametrize("text", [f"{TEXT}!", f"  «{TEXT}»", TEXT.rstrip("."), f"- {TEXT}\n"])
def test_marks_around_a_text_make_no_other(memory: Memory, text: str) -> None:
    stored = memory.remember(TEXT)
    similar = memory.remember(text).similar
    assert similar is not None
    assert (similar.id, similar.similarity) == (stored.id, 1.0)


def test_another_tenant_is_not_seen(memory: Memory) -> None:
    memory.remember(TEXT)
    with Memory(settings=memory.configuration, tenant="other", embedder=memory.embedder) as other:
        assert other.remember(TEXT).outcome == "created"


def test_several_drafts_are_compared_on_request(memory: Memory) -> None:
    memory.remember(TEXT, key="key")
    drafts = [Draft("First"), Draft(TEXT), Draft(TEXT.upper())]
    assert [stored.outcome for stored in memory.remember_many(drafts)] == ["created"] * 3
    outcomes = [
        (stored.outcome, stored.similar is not None) for stored in memory.remember_many(drafts, compare=True)
    ]
    assert outcomes == [("unchanged", False), ("unchanged", False), ("unchanged", False)]
    with pytest.raises(InvalidInput, match="101 drafts cannot be compared"):
        memory.remember_many([Draft("x")] * 101, compare=True)


def test_a_near_vector_makes_a_text_similar(query: Query) -> None:
    def remember(body: str, vector: list[float]) -> Any:
        item = [{"body": body, "embedding": str(vector + [0.0] * (dimensions - 2))}]
        return query(
            "SELECT outcome, similar_to AS similar FROM recall.remember_many(%s, 'model', p_compare => true)",
            [json.dumps(item)],
        )[0]

    dimensions = int(
        query("SELECT recall_private.setting_value('*', 'embedding.dimensions') #>> '{}' AS d")[0]["d"]
    )
    remember("Mira prefers tea", [1.0, 0.0])
    near = remember("It is tea Mira prefers", [0.97, 0.2431])
    far = remember("Mira will prefer tea", [0.9, 0.4359])
    assert (near["outcome"], round(near["similar"]["similarity"], 2)) == ("created", 0.97)
    assert far["similar"] is None


@pytest.mark.parametrize(
    ("text", "other", "otherwise"),
    [
        ("Mira prefers tea", "It is tea Mira prefers", False),
        ("Mira prefers tea", "MIRA PREFERS TEA!", False),
        ("due on 14 March", "due on March 14", False),
        ("kept for 1,5 days at 2:30", "at 2:30, and kept for 1.5 days", False),
        ("", "", False),
        ("due on 14 March", "due on 15 March", True),
        ("runs at -5 degrees", "runs at 5 degrees", True),
        ("kept 14 days, as agreed", "as agreed, kept 30 days", True),
        ("it is paid", "it is not paid", True),
        ("it can run", "it can\u2019t run", True),
        ("es ist bezahlt", "es ist noch nicht bezahlt", True),
        ("hay leche", "No hay leche", True),
        ("meets on Tuesday at ten", "meets on Thursday at ten", True),
        ("from Berlin to Prague by train", "from Prague to Berlin by train", True),
        ("a winch, a rope and an oar", "a letter of the mayor about rent", True),
        ("word " * 60 + "end", "word " * 60 + "other", False),
    ],
)
def test_what_states_otherwise_is_not_the_same(query: Query, text: str, other: str, otherwise: bool) -> None:
    for pair in ((text, other), (other, text)):
        assert query("SELECT recall_private.states_otherwise(%s, %s) AS o", pair)[0]["o"] is otherwise


def test_other_numbers_keep_the_same_words_apart(memory: Memory) -> None:
    memory.remember("Paid by transfer.", title="Invoice 17")
    assert memory.remember("Paid by transfer.", title="Invoice 18").similar is None
    memory.remember("The pump runs at -5 degrees.")
    assert memory.remember("The pump runs at 5 degrees.").similar is None


def test_a_duplicate_among_others_of_its_form_is_found(query: Query) -> None:
    """Nearer memories that state otherwise do not hide it."""
    dimensions = int(
        query("SELECT recall_private.setting_value('*', 'embedding.dimensions') #>> '{}' AS d")[0]["d"]
    )

    def draft(body: str, *vector: float) -> dict[str, Any]:
        return {"body": body, "embedding": str([*vector, *[0.0] * (dimensions - 2)])}

    items = [draft(f"Invoice {n} is paid", 1.0, 0.0) for n in range(5)]
    items.append(draft("Paid is the invoice 7 then", 0.97, 0.2431))
    call = "SELECT similar_to AS similar FROM recall.remember_many(%s, 'model', p_compare => %s)"
    query(call, [json.dumps(items), False])
    [found] = query(call, [json.dumps([draft("Invoice 7 is paid", 1.0, 0.0)]), True])
    assert round(found["similar"]["similarity"], 2) == 0.97
