"""Base of the state machine: a database that is rolled back, two tenants, a clock, and the comparison."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.conftest import NOW
from tests.databases import Query, runner
from tests.stateful.remembered import Remembered
from tests.stateful.tenant import Draft, Tenant

NAMES = ("acme", "globex")
STEPS = (1, 300, 660, 3600, 86_400, 9 * 86_400, 40 * 86_400)
GET = "SELECT g.* FROM unnest(%s::bigint[]) i CROSS JOIN LATERAL recall.get(i, %s) g"
REFUSALS = (psycopg.DataError, psycopg.errors.NoDataFound, psycopg.IntegrityError)

tenant_names = st.sampled_from(NAMES)
picks = st.integers(0, 1000)
sessions = st.sampled_from([None, "s1", "s2"])


class TenantMachine(RuleBasedStateMachine):
    """Both tenants in one database, and the models they must be equal to."""

    connection: psycopg.Connection[Any]
    calls: dict[str, int]

    def __init__(self) -> None:
        super().__init__()
        self.now: datetime = NOW
        self.tenants = {name: Tenant() for name in NAMES}
        self._stack = ExitStack()
        self._stack.enter_context(self.connection.transaction(force_rollback=True))
        self._run: Query = runner(self.connection)

    def sql(self, tenant: str, call: str, *parameters: Any) -> list[dict[str, Any]]:
        function = call.partition("recall.")[2].partition("(")[0]
        self.calls[function] = self.calls.get(function, 0) + 1
        return self._run(call, parameters, tenant=tenant)

    def value(self, tenant: str, call: str, *parameters: Any) -> Any:
        """What a call of one function returns."""
        [row] = self.sql(tenant, f"SELECT {call} AS value", *parameters)
        return row["value"]

    def refused(self, tenant: str, call: str, *parameters: Any) -> None:
        """A call that must be refused with a sentence, and change nothing: the comparison sees to that."""
        with pytest.raises(REFUSALS) as refusal:
            self.sql(tenant, f"SELECT {call}", *parameters)
        assert refusal.value.sqlstate in {"22023", "P0002"}, refusal.value
        self.calls["refused"] = self.calls.get("refused", 0) + 1

    def pick(self, tenant: str, number: int) -> Remembered | None:
        memories = self.tenants[tenant].memories
        return memories[sorted(memories)[number % len(memories)]] if memories else None

    def other(self, tenant: str) -> str:
        return NAMES[1 - NAMES.index(tenant)]

    def fold(self, tenant: str) -> None:
        """What the job does."""
        model = self.tenants[tenant]
        assert self.value(tenant, "recall.fold_accesses()") == model.queued
        assert self.value(tenant, "recall.fold_accesses()") == 0
        model.queued = 0
        for memory in model.memories.values():
            memory.waiting = False

    @rule(seconds=st.sampled_from(STEPS))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @invariant()
    def is_as_the_model_says(self) -> None:
        every = [one for model in self.tenants.values() for one in model.memories]
        for tenant, model in self.tenants.items():
            rows = {row["id"]: row for row in self.sql(tenant, GET, every, self.now)}
            assert set(rows) == set(model.memories)
            for memory in model.memories.values():
                self._compare(model, memory, rows[memory.id])

    def _compare(self, model: Tenant, memory: Remembered, row: dict[str, Any]) -> None:
        names = ("key", "layer", "title", "body", "role", "pinned", "superseded_by")
        assert [row[name] for name in names] == [getattr(memory, name) for name in names]
        moments = (memory.created, memory.expires, memory.archived.at if memory.archived else None)
        assert (row["created_at"], row["expires_at"], row["archived_at"]) == moments
        assert tuple(row["tags"]) == memory.tags
        made = {(end["other"], end["relation"], end["outgoing"], end["weight"])
                for end in row["links"] if end["relation"] != "co_access"}  # fmt: skip
        assert made == model.links.of(memory.id)
        if not memory.waiting:
            self.compare_vitality(model, memory, row["vitality"])

    def compare_vitality(self, model: Tenant, memory: Remembered, told: dict[str, Any]) -> None:
        terms = model.terms(memory, self.now)
        assert told["accesses"] == memory.folded(model.burst).summary.count
        for name in ("recent", "tail", "spread", "revival", "activation", "vitality"):
            assert told[name] == pytest.approx(getattr(terms, name), rel=1e-6, abs=1e-9), name
        assert told["retention"] == pytest.approx(model.retention(memory, self.now), rel=1e-6)
        if abs(told["retention"] - 0.5) > 1e-6:  # a floor at a threshold is on one side by a hair
            assert told["zone"] == model.zone(memory, self.now)

    def at_the_end(self, tenant: str) -> None:
        self.fold(tenant)
        found = self.value(tenant, "recall.verify(%s)", self.now)
        wrong = [check for check in found["checks"] if check["problems"]]
        assert not wrong, wrong
        assert self.value(tenant, "recall.rebuild()") == 0

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is not None:  # a failed example ends here, and what failed is told
                return
            for tenant in NAMES:
                self.at_the_end(tenant)
            self.is_as_the_model_says()
        finally:
            self._stack.close()


def as_json(draft: Draft) -> dict[str, Any]:
    """A draft as `remember_many` takes it."""
    return {
        "body": draft.body, "key": draft.key, "title": draft.title, "layer": draft.layer, "role": draft.role,
        "tags": draft.tags, "occurred_at": draft.occurred, "expires_at": draft.expires,
        "valid_until": draft.valid_until, "pinned": draft.pinned,
        "links": [{"target": target, "relation": relation} for target, relation in draft.links],
    }  # fmt: skip


def document(items: Sequence[Any]) -> str:
    return json.dumps(items, default=str)
