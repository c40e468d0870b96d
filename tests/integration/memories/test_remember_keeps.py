"""remember with a key that exists: what is given changes, the rest stays, and what is empty is cleared."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from pgrecall import Draft, DraftLink, InvalidInput, Memory
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from pgrecall.settings import Settings
from tests.databases import Query
from tests.waiting import PATIENCE

pytestmark = pytest.mark.in_turns

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
YESTERDAY = NOW - timedelta(days=1)

FULL: dict[str, Any] = {
    "title": "Harbour contract",
    "layer": "episodic",
    "role": "user",
    "author": "Mira",
    "context": "negotiation",
    "source": "vault",
    "session_id": "s-1",
    "tags": ("harbour", "law"),
    "aliases": ("the contract",),
    "metadata": {"project": "atlas", "pages": None},
    "occurred_at": YESTERDAY,
    "valid_from": YESTERDAY,
    "valid_until": NOW + timedelta(days=30),
    "expires_at": NOW + timedelta(days=60),
    "pinned": True,
    "speech_act": "instruction",
}
"""A value for each field but body, key and links."""

CLEARED: dict[str, Any] = {
    "title": "", "context": "", "author": "", "source": "", "session_id": "", "role": "",
    "tags": [], "aliases": [], "metadata": {},
    "occurred_at": "", "valid_from": "", "valid_until": "", "expires_at": "",
}  # fmt: skip
"""How each field is cleared in SQL."""


def fields_of(memory: Memory, key: str = "k") -> dict[str, Any]:
    stored = memory.get(key, now=NOW)
    return {name: getattr(stored, name) for name in FULL}


def store(query: Query, *drafts: dict[str, Any], keep: bool = True, **options: Any) -> list[dict[str, Any]]:
    return query(
        "SELECT * FROM recall.remember_many(%s::jsonb, %s, p_skip_rejected => %s, p_now => %s, p_keep => %s)",
        (json.dumps(drafts, default=str), options.get("model"), options.get("skip", False), NOW, keep),
    )


@pytest.fixture
def full(memory: Memory) -> Memory:
    memory.remember_many([Draft("Signed on Friday", key="k", **FULL)], now=NOW)
    assert fields_of(memory) == FULL
    return memory


# What is kept


def test_a_new_text_keeps_every_other_field(full: Memory) -> None:
    [stored] = full.remember_many([Draft("Signed on Monday", key="k")], now=NOW)
    assert (stored.outcome, stored.changed) == ("updated", ("body",))
    assert fields_of(full) == FULL
    assert full.get("k").body == "Signed on Monday"


def test_the_method_for_one_keeps_too(full: Memory) -> None:
    assert full.remember("Signed on Monday", key="k").changed == ("body",)
    assert fields_of(full) == FULL


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "Quay"), ("layer", "knowledge"), ("role", "assistant"), ("author", "Jon"), ("context", "c"),
        ("source", "notes"), ("session_id", "s-2"), ("tags", ("sea",)), ("aliases", ("a", "b")),
        ("metadata", {"x": 1}), ("occurred_at", NOW), ("valid_from", NOW), ("valid_until", NOW),
        ("expires_at", NOW), ("speech_act", "preference"),
    ],
)  # fmt: skip
def test_one_field_changes_alone(full: Memory, field: str, value: Any) -> None:
    [stored] = full.remember_many([Draft("Signed on Friday", key="k", **{field: value})], now=NOW)
    assert (stored.outcome, stored.changed) == ("updated", (field,))
    assert fields_of(full) == FULL | {field: value}


def test_the_same_again_is_unchanged(full: Memory) -> None:
    for given in ({}, FULL, {"tags": FULL["tags"]}):
        [stored] = full.remember_many([Draft("Signed on Friday", key="k", **given)], now=NOW)
        assert (stored.outcome, stored.changed) == ("unchanged", ())


def test_none_is_not_given(full: Memory) -> None:
    nothing = {
        name: None for name, value in FULL.items() if name != "pinned" and not isinstance(value, tuple)
    }
    full.remember_many([Draft("Signed on Friday", key="k", **nothing)], now=NOW)
    assert fields_of(full) == FULL


def test_a_draft_can_pin_but_not_unpin(full: Memory) -> None:
    full.remember("Signed on Friday", key="k", pinned=False)
    assert full.get("k").pinned
    full.pin("k", False)
    assert full.remember("Signed on Friday", key="k", pinned=True).changed == ("pinned",)
    assert full.get("k").pinned


def test_a_created_memory_changed_nothing(memory: Memory) -> None:
    stored = memory.remember("Signed on Friday", key="k", tags=("a",))
    assert (stored.outcome, stored.changed) == ("created", ())
    assert memory.get("k").layer == "knowledge"


def test_an_archived_memory_comes_back_with_its_fields(full: Memory) -> None:
    full.forget("k", now=NOW)
    [stored] = full.remember_many([Draft("Signed on Monday", key="k")], now=NOW)
    assert (stored.outcome, stored.changed) == ("revived", ("body",))
    assert fields_of(full) == FULL


def test_links_are_kept_replaced_and_cleared(memory: Memory) -> None:
    memory.remember_many([Draft("the quay", key="quay"), Draft("the ferry", key="ferry")])
    memory.remember("b", key="k", links=(DraftLink("quay"), DraftLink("not yet there")))
    memory.link("k", "ferry")

    def linked() -> set[str | None]:
        return {link.other_key for link in memory.get("k").links}

    assert memory.remember("c", key="k").changed == ("body",)
    assert (linked(), memory.status().links_pending) == ({"quay", "ferry"}, 1)
    other = (DraftLink("ferry", "mentions"),)
    replaced = memory.remember("c", key="k", links=other)
    assert (replaced.outcome, replaced.changed) == ("updated", ("links",))
    assert (linked(), memory.status().links_pending) == ({"ferry"}, 0)
    assert memory.remember("c", key="k", links=other).outcome == "unchanged"
    assert memory.remember("d", key="k", links=(DraftLink("none"),)).changed == ("body", "links")
    assert memory.remember("d", key="k", links=()).changed == ("links",)
    assert memory.remember("d", key="k", links=()).outcome == "unchanged"
    assert [(link.other_key, link.relation) for link in memory.get("k").links] == [("ferry", "links_to")]


def test_a_link_that_waits_for_a_kept_name_is_made_once(memory: Memory) -> None:
    memory.remember("b", key="k", title="Quay")
    memory.remember("see", key="from", links=(DraftLink("Quay"),))
    memory.remember("c", key="k")
    assert [link.other_key for link in memory.get("from").links] == ["k"]


# What is cleared


def test_an_empty_value_clears(full: Memory) -> None:
    given: dict[str, Any] = {
        name: CLEARED[name] for name in ("title", "context", "tags", "aliases", "metadata")
    }
    [stored] = full.remember_many([Draft("Signed on Friday", key="k", **given)], now=NOW)
    assert stored.changed == tuple(name for name in FULL if name in given)
    assert fields_of(full) == FULL | given | {"tags": (), "aliases": ()}


@pytest.mark.parametrize("field", CLEARED)
def test_every_field_is_cleared_in_sql(full: Memory, query: Query, field: str) -> None:
    [row] = store(query, {"key": "k", field: CLEARED[field]})
    assert (row["outcome"], row["changed"]) == ("updated", [field])
    empty = CLEARED[field] if field in ("title", "context", "metadata") else None
    empty = () if field in ("tags", "aliases") else empty
    assert fields_of(full) == FULL | {field: empty}


def test_a_cleared_speech_act_is_found_out_again(full: Memory, query: Query) -> None:
    [row] = store(query, {"key": "k", "speech_act": ""})
    assert (row["outcome"], row["changed"]) == ("updated", ["speech_act"])
    stored = full.get("k")
    assert (stored.speech_act, stored.act_marked) == ("statement", False)


def test_a_found_speech_act_follows_a_new_text_and_is_not_marked(memory: Memory) -> None:
    memory.remember("The ferry leaves at seven.", key="k", role="user")
    memory.remember("When does the ferry leave?", key="k")
    stored = memory.get("k")
    assert (stored.speech_act, stored.act_marked) == ("question", False)


def test_the_layer_cannot_be_cleared(full: Memory, query: Query) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="its layer '' is unknown"):
        store(query, {"key": "k", "layer": ""})


# SQL


def test_plain_sql_keeps_and_clears(full: Memory, query: Query) -> None:
    query("SELECT recall.remember('Signed on Monday', p_key => 'k', p_now => %s)", (NOW,))
    assert fields_of(full) == FULL
    query(
        "SELECT recall.remember(NULL, '', p_key => 'k', p_author => '', p_tags => '{}', p_now => %s)",
        (NOW,),
    )
    assert fields_of(full) == FULL | {"author": None, "tags": (), "title": ""}
    assert full.get("k").body == "Signed on Monday"


def test_without_a_body_the_text_is_kept(full: Memory, query: Query) -> None:
    [row] = store(query, {"key": "k", "tags": ["new"]})
    assert row["changed"] == ["tags"]
    assert full.get("k").body == "Signed on Friday"


def test_what_is_replaced_as_a_whole_is_still_replaced(full: Memory, query: Query) -> None:
    [row] = store(query, {"key": "k", "body": "Signed on Monday"}, keep=False)
    assert (row["outcome"], row["changed"]) == ("updated", None)
    stored = full.get("k")
    assert (stored.title, stored.tags, stored.metadata, stored.layer, stored.pinned) == (
        "", (), {}, "knowledge", True,
    )  # fmt: skip


def test_python_can_replace_the_whole_record_too(full: Memory) -> None:
    full.remember_many([Draft("Signed on Monday", key="k")], keep=False, now=NOW)
    assert (full.get("k").title, full.get("k").tags, full.get("k").pinned) == ("", (), True)


def test_an_import_replaces_the_whole_record(memory: Memory) -> None:
    memory.import_drafts([Draft("one", key="k", source="vault", title="T", tags=("a",))], source="vault")
    memory.import_drafts([Draft("one", key="k", source="vault")], source="vault")
    assert (memory.get("k").title, memory.get("k").tags) == ("", ())


def test_what_does_not_go_with_what_is_kept_is_refused(full: Memory, query: Query) -> None:
    early = YESTERDAY - timedelta(days=9)
    with pytest.raises(InvalidInput, match=r"its valid_from .* lies after its valid_until"):
        full.remember_many([Draft("b", key="k", valid_until=early)], now=NOW)
    query("SELECT recall.remember('', p_title => 'only a title', p_key => 'bare')")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="it has neither a title nor a body"):
        query("SELECT recall.remember(NULL, p_title => '', p_key => 'bare')")
    assert fields_of(full) == FULL


@pytest.mark.parametrize(
    "draft", [{"key": "new"}, {"key": "new", "tags": ["a"]}, {"body": ""}, {"title": ""}]
)
def test_nothing_is_kept_where_nothing_is(query: Query, draft: dict[str, Any]) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="it has neither a title nor a body"):
        store(query, draft)


def test_several_drafts_each_keep_their_own(memory: Memory, query: Query) -> None:
    memory.remember_many([Draft("a", key="a", title="A"), Draft("b", key="b", tags=("t",))])
    rows = store(
        query, {"key": "new", "body": "n"}, {"key": "b", "body": "bb"}, {"body": "keyless"}, {"key": "a"}
    )
    assert [(row["outcome"], row["changed"]) for row in rows] == [
        ("created", None), ("updated", ["body"]), ("created", None), ("unchanged", []),
    ]  # fmt: skip
    assert (memory.get("a").title, memory.get("b").tags, memory.get("b").body) == ("A", ("t",), "bb")


# Vectors


class Spy(HashEmbedder):
    """Notes what it embeds, and calls ``meanwhile`` once before it answers."""

    def __init__(self) -> None:
        super().__init__(64)
        self.texts: list[str] = []
        self.meanwhile: Any = None

    def embed(self, texts: Any) -> Vectors:
        self.texts.extend(texts)
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            act()
        return super().embed(texts)


def test_the_vector_covers_the_kept_title(settings: Settings) -> None:
    spy = Spy()
    with Memory(settings=settings, embedder=spy) as memory:
        memory.remember("one", key="k", title="Kept")
        memory.remember("two", key="k")
        memory.remember("two", key="k", tags=("t",))
        memory.remember("two", key="k", title="")
        assert memory.get("k").embedded_with is not None
    assert spy.texts == ["Kept\none", "Kept\ntwo", "two"]


def test_a_vector_of_a_title_that_changed_meanwhile_is_left_out(settings: Settings, query: Query) -> None:
    """Another client changes the title between the look at it and the call: its vector would lie."""
    spy = Spy()
    with Memory(settings=settings, embedder=spy) as memory, Memory(settings=settings) as other:
        memory.remember("one", key="k", title="Old")
        spy.meanwhile = lambda: other.edit("k", title="New")
        stored = memory.remember("two", key="k")
        assert stored.changed == ("body",)
        held = memory.get("k")
        assert (held.title, held.body, held.embedded_with) == ("New", "two", None)
        assert query("SELECT count(*) FROM recall_private.stored_vectors('acme', NULL)")[0]["count"] == 0
        spy.texts.clear()
        memory.jobs.run("embed")
        assert spy.texts == ["New\ntwo"]


def test_a_vector_with_the_title_of_a_deleted_memory_is_left_out(settings: Settings) -> None:
    spy = Spy()
    with Memory(settings=settings, embedder=spy) as memory, Memory(settings=settings) as other:
        memory.remember("one", key="k", title="Old")
        spy.meanwhile = lambda: other.forget("k", hard=True)
        assert memory.remember("two", key="k").outcome == "created"
        held = memory.get("k")
        assert (held.title, held.embedded_with) == ("", None)


def test_two_writers_of_different_fields_both_win(memory: Memory, settings: Settings) -> None:
    """Each waits for the other's lock and merges with what that one has stored."""
    memory.remember("b", key="k")
    barrier = threading.Barrier(2)

    def write(field: str, values: list[str]) -> None:
        with Memory(settings=settings) as client:
            barrier.wait(timeout=PATIENCE)
            for value in values:
                client.remember("b", key="k", **{field: value})  # type: ignore[arg-type]  # a text field

    numbers = [str(number) for number in range(20)]
    threads = [threading.Thread(target=write, args=(field, numbers)) for field in ("author", "context")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = memory.get("k")
    assert (stored.author, stored.context) == ("19", "19")
