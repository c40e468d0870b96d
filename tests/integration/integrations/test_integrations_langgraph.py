"""The store does what LangGraph's own does, where it promises to."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from tests.databases import Query

pytest.importorskip("langgraph", reason="langgraph is not installed: pip install 'pgrecall[langgraph]'")

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from pgrecall.integrations.langgraph import (
    PgrecallStore,
    item_keys,
    item_text,
    matches_filter,
    matches_path,
    memory_key,
    namespace_tag,
)

pytestmark = pytest.mark.in_turns

USER, OTHER = ("users", "42"), ("users", "43", "work/life")


@pytest.fixture
def store(memory: Memory) -> PgrecallStore:
    return PgrecallStore(memory)


@pytest.fixture(params=["pgrecall", "langgraph"])
def either(request: pytest.FixtureRequest, memory: Memory) -> BaseStore:
    """Ours and theirs: what is asserted of both is what a graph can rely on."""
    return PgrecallStore(memory) if request.param == "pgrecall" else InMemoryStore()


def values(items: Any) -> list[Any]:
    return [item.value for item in items]


def test_items_are_put_got_replaced_and_deleted(either: BaseStore) -> None:
    assert either.get(USER, "name") is None
    either.put(USER, "name", {"first": "Mira", "tags": ["a", None, 1.5, {"deep": True}]})
    item = either.get(USER, "name")
    assert item is not None
    assert (item.key, item.namespace) == ("name", USER)
    assert item.value == {"first": "Mira", "tags": ["a", None, 1.5, {"deep": True}]}
    either.put(USER, "name", {"first": "Odile"})
    again = either.get(USER, "name")
    assert again is not None
    assert again.value == {"first": "Odile"}
    assert again.created_at >= item.created_at
    assert again.updated_at > item.updated_at
    assert either.get(OTHER, "name") is None
    either.delete(USER, "name")
    either.delete(USER, "name")
    assert either.get(USER, "name") is None
    either.put(USER, "name", {"first": "Odile"})
    assert either.get(USER, "name") is not None


def test_items_are_listed_below_a_namespace(either: BaseStore) -> None:
    for number in range(5):
        either.put(USER, f"k{number}", {"n": number, "kind": "even" if number % 2 == 0 else "odd"})
    either.put(OTHER, "k", {"n": 9})
    either.put(("users", "420"), "k", {"n": 420})
    assert [item["n"] for item in values(either.search(USER))] == [0, 1, 2, 3, 4]
    assert [item["n"] for item in values(either.search(USER, limit=2, offset=3))] == [3, 4]
    assert sorted(item["n"] for item in values(either.search(("users",), limit=99))) == [
        0,
        1,
        2,
        3,
        4,
        9,
        420,
    ]
    assert [item["n"] for item in values(either.search(USER, filter={"kind": "odd"}))] == [1, 3]
    assert [item["n"] for item in values(either.search(USER, filter={"n": {"$gte": 2, "$lt": 4}}))] == [2, 3]
    assert values(either.search(USER, filter={"n": {"$ne": 0}, "kind": "even"}, limit=1)) == [
        {"n": 2, "kind": "even"}
    ]
    assert either.search(("nobody",)) == []


def test_namespaces(either: BaseStore) -> None:
    for path in (("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("z", "c")):
        either.put(path, "k", {"v": 1})
    assert either.list_namespaces() == [("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("z", "c")]
    assert either.list_namespaces(prefix=("a",), max_depth=2) == [("a", "b"), ("a", "x")]
    assert either.list_namespaces(suffix=("c",)) == [("a", "b", "c"), ("z", "c")]
    assert either.list_namespaces(prefix=("a", "*", "c")) == [("a", "b", "c")]
    assert either.list_namespaces(limit=2, offset=1) == [("a", "b", "d"), ("a", "x")]


@pytest.mark.parametrize("path", [(), ("",), ("a.b",), ("langgraph",), ("a\x00",)])
def test_namespaces_that_cannot_be(either: BaseStore, path: tuple[str, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        either.put(path, "k", {"v": 1})
    assert either.list_namespaces() == []


def test_items_are_found_by_what_they_say(store: PgrecallStore) -> None:
    store.put(USER, "a", {"text": "The gate code is 4711.", "kind": "fact"})
    store.put(USER, "b", {"text": "Mira feeds the heron.", "kind": "event"})
    store.put(OTHER, "c", {"text": "The gate is painted green.", "kind": "fact"})
    found = store.search(USER, query="what is the gate code?")
    assert found[0].key == "a"
    assert found[0].score is not None
    assert {item.key for item in found} <= {"a", "b"}
    assert store.search(("users",), query="green gate")[0].namespace == OTHER
    assert [item.key for item in store.search(USER, query="gate heron", filter={"kind": "event"})] == ["b"]


def test_items_that_are_not_indexed_are_not_found(store: PgrecallStore) -> None:
    store.put(USER, "a", {"text": "The gate code is 4711."}, index=False)
    store.put(USER, "b", {"text": "The gate is green.", "secret": "tamarind"}, index=["text"])
    assert [item.key for item in store.search(USER, query="gate code")] == ["b"]
    assert store._memory.get(memory_key("langgraph", USER, "b")).body == "The gate is green."
    assert len(store.search(USER)) == 2


def test_an_item_expires(store: PgrecallStore, query: Query) -> None:
    store.put(USER, "a", {"text": "The gate code is 4711."}, ttl=60)
    assert store.get(USER, "a") is not None
    query("UPDATE recall.memory SET expires_at = now() - interval '1 second'")
    assert store.get(USER, "a") is None
    assert store.search(USER) == store.search(USER, query="gate code") == []
    store.put(USER, "a", {"text": "The gate code is 4711."})
    assert store.get(USER, "a") is not None


def test_other_memories_and_other_roots_are_out_of_reach(memory: Memory) -> None:
    one, other = PgrecallStore(memory, root="agent/one"), PgrecallStore(memory, root="agent/one2")
    memory.remember("The gate code is 4711.", key="gate", source="agent/one")
    one.put(("a",), "k", {"text": "The gate is green."})
    assert (other.get(("a",), "k"), other.search(("a",)), other.list_namespaces()) == (None, [], [])
    assert [item.key for item in one.search((), query="gate")] == ["k"]
    assert one.list_namespaces() == [("a",)]


def test_operations_in_a_batch_and_awaited(store: PgrecallStore) -> None:
    async def scenario() -> None:
        await store.aput(USER, "a", {"n": 1})
        put, got, found = await store.abatch(
            [PutOp(USER, "b", {"n": 2}), GetOp(USER, "a"), SearchOp(USER, filter={"n": {"$gt": 1}})]
        )
        assert put is None
        assert got.value == {"n": 1}
        assert values(found) == [{"n": 2}]
        assert await store.alist_namespaces() == [USER]
        await store.adelete(USER, "a")
        assert await store.aget(USER, "a") is None

    asyncio.run(scenario())


def test_in_a_graph(store: PgrecallStore) -> None:
    class State(TypedDict):
        said: str

    def listen(state: State, *, store: BaseStore) -> State:
        store.put(USER, "last", {"text": state["said"]})
        return state

    def answer(state: State, *, store: BaseStore) -> State:
        [item] = store.search(USER, query="gate code")
        return {"said": f"You said: {item.value['text']}"}

    builder = StateGraph(State)
    builder.add_node("listen", listen)
    builder.add_node("answer", answer)
    builder.add_edge(START, "listen")
    builder.add_edge("listen", "answer")
    builder.add_edge("answer", END)
    graph = builder.compile(store=store)
    assert graph.invoke({"said": "The gate code is 4711."}) == {"said": "You said: The gate code is 4711."}


LABEL = st.text(
    st.characters(blacklist_characters=".\x00", blacklist_categories=("Cs",)), min_size=1, max_size=6
)
PATH = st.lists(LABEL, min_size=1, max_size=3).map(tuple)


@given(PATH, LABEL, PATH, LABEL)
def test_no_two_items_share_a_key(path: Any, key: str, other: Any, other_key: str) -> None:
    one, two = memory_key("root", path, key), memory_key("root", other, other_key)
    assert (one == two) == ((path, key) == (other, other_key))
    assert list(item_keys("root", [one])) == [(one, path)]
    assert one.startswith(f"{namespace_tag('root', path)}/")


def test_what_of_a_value_is_searched() -> None:
    value = {
        "title": "Gate",
        "facts": [{"text": "green"}, {"text": "old"}],
        "n": 3,
        "none": None,
        "yes": True,
    }
    assert item_text(value, ("$",)).splitlines() == [
        "title: Gate", "facts.text: green", "facts.text: old", "n: 3", "yes: true",
    ]  # fmt: skip
    assert item_text(value, ("title", "facts[*].text")) == "Gate\ngreen\nold"
    assert item_text(value, ("nothing",)) == ""


def test_filters() -> None:
    value = {"n": 3, "name": "Mira", "deep": {"x": [1, 2]}}
    for wanted in (
        {},
        {"n": 3},
        {"n": {"$lte": 3}},
        {"deep": {"x": [1, 2]}},
        {"name": {"$gt": "Mina"}},
        {"no": None},
    ):
        assert matches_filter(value, wanted)
    for wanted in (
        {"n": 4},
        {"n": {"$gt": 3}},
        {"deep": {"x": [1]}},
        {"name": {"$lt": 3}},
        {"n": {"$ne": 3}},
    ):
        assert not matches_filter(value, wanted)
    with pytest.raises(InvalidInput, match=r"There is no filter operator '\$in'"):
        matches_filter(value, {"n": {"$in": [3]}})


def test_wildcards() -> None:
    assert matches_path(("a", "b"), "prefix", ("*", "b"))
    assert matches_path(("a", "b"), "suffix", ("b",))
    assert not matches_path(("a", "b"), "suffix", ("a",))
    assert not matches_path(("a",), "prefix", ("a", "*"))
