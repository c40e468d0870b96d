"""The store keeps the contract of LangGraph's stores.

LangGraph publishes no tests for stores: `langgraph-checkpoint-conformance` is for checkpointers. So ours is
compared with its `InMemoryStore`, and with what `BaseStore` and its operations document.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from pgrecall import Memory
from tests.databases import Query

pytest.importorskip("langgraph", reason="langgraph is not installed: pip install 'pgrecall[langgraph]'")

from langgraph.store.base import ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from pgrecall.integrations.langgraph import PgrecallStore, memory_key

USER = ("users", "42")


def test_reading_extends_a_ttl_where_it_is_asked_to(memory: Memory, query: Query) -> None:
    store = PgrecallStore(memory, ttl={"default_ttl": 60})
    store.put(USER, "a", {"text": "The gate code is 4711."})
    store.put(USER, "b", {"text": "The gate is green."}, ttl=None)

    def ends(key: str) -> datetime | None:
        sql = "SELECT expires_at FROM recall.memory WHERE key = %s"
        [row] = query(sql, (memory_key("langgraph", USER, key),))
        return cast("datetime | None", row["expires_at"])

    put = ends("a")
    store.get(USER, "a")
    store.search(USER)
    assert ends("a") == put
    for read in (
        lambda: store.get(USER, "a", refresh_ttl=True),
        lambda: store.search(USER, refresh_ttl=True),
        lambda: PgrecallStore(memory, ttl={"refresh_on_read": True}).get(USER, "a"),
    ):
        before = datetime.now(UTC)
        read()
        ttl = timedelta(minutes=60)
        assert before + ttl <= ends("a") <= datetime.now(UTC) + ttl  # type: ignore[operator]
    assert ends("b") is None


LABELS = ("a", "b", "a b", "ü", "x/y", "%2F", "*")
VALUES: tuple[dict[str, Any], ...] = (
    {"n": 1}, {"n": 2, "t": "x"}, {"n": 1.5, "s": {"u": {"v": 1}}}, {"n": 0, "l": [1, 2], "b": True},
    {"n": 7, "z": None},
)  # fmt: skip
FILTERS: tuple[dict[str, Any] | None, ...] = (
    None, {"n": {"$gt": 1}}, {"n": {"$gte": 1.5, "$lt": 7}}, {"n": {"$lte": 0}}, {"n": {"$ne": 1}, "t": "x"},
    {"s": {"u": {"v": 1}}}, {"l": [1, 2]}, {"b": True}, {"z": None}, {"n": {"$eq": 2}},
)  # fmt: skip


def test_operations_have_the_results_of_the_store_in_memory(memory: Memory) -> None:
    store = PgrecallStore(memory)
    theirs, chance = InMemoryStore(), random.Random(11)

    def path(longest: int = 3, shortest: int = 1) -> tuple[str, ...]:
        return tuple(chance.choices(LABELS, k=chance.randint(shortest, longest)))

    def condition() -> MatchCondition:
        return MatchCondition(chance.choice(["prefix", "suffix"]), path(2))

    for number in range(240):
        op: Any = PutOp(path(), f"k/{number % 7}", chance.choice(VALUES))
        if number % 4 == 1:
            op = SearchOp(path(2, 0), filter=chance.choice(FILTERS), limit=1000)
        elif number % 4 == 2:
            conditions = tuple(condition() for _ in range(chance.randint(0, 2)))
            op = ListNamespacesOp(conditions, max_depth=chance.choice([None, 1, 2]), limit=1000)
        ours, wanted = store.batch([op])[0], theirs.batch([op])[0]
        if isinstance(op, SearchOp):
            assert found(ours) == found(wanted), op
        else:
            assert ours == wanted, op


def found(items: Any) -> list[Any]:
    return sorted(((item.namespace, item.key, item.value) for item in items), key=repr)
