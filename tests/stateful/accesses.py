"""Rules of use: accesses, searches, feedback; what a tenant must never find, and what it must."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.stateful.base import TenantMachine, document, picks, sessions, tenant_names
from tests.stateful.remembered import Remembered
from tests.stateful.writing import LAYERS, WORDS

KINDS = ["read", "reference", "used", "used", "retrieval", "write"]
HIDDEN = ("archived", "superseded", "invalid")
AGO = [0, 0, 0, -120, -550, -650, -7200, -86_400 * 20, 240, 400]
uses = st.fixed_dictionaries({
    "number": picks, "kind": st.sampled_from(KINDS), "ago": st.sampled_from(AGO), "session": sessions,
    "key": st.sampled_from([None, None, "turn 1", "turn 2", "turn 3"]),
})  # fmt: skip


def earliest(memory: Remembered) -> datetime:
    return min(memory.occurred or memory.created, memory.created) - timedelta(minutes=5)


class Accesses(TenantMachine):
    def _use(self, tenant: str, told: Mapping[str, Any]) -> dict[str, Any] | None:
        memory = self.pick(tenant, told["number"])
        if memory is None:
            return None
        return {"memory_id": memory.id, "kind": told["kind"], "at": self.now + timedelta(seconds=told["ago"]),
                "session_id": told["session"], "idempotency_key": told["key"]}  # fmt: skip

    def _can_be(self, tenant: str, use: Mapping[str, Any]) -> bool:
        memory = self.tenants[tenant].memories[use["memory_id"]]
        return earliest(memory) <= use["at"] <= self.now + timedelta(minutes=5)

    @rule(tenant=tenant_names, told=uses)
    def record_access(self, tenant: str, told: Mapping[str, Any]) -> None:
        use = self._use(tenant, told)
        if use is None:
            return
        given = [use[name] for name in ("memory_id", "kind", "at", "session_id", "idempotency_key")]
        call = "recall.record_access(%s, %s, %s, %s, %s, %s)"
        if not self._can_be(tenant, use):
            self.refused(tenant, call, *given, self.now)
            return
        new = self.tenants[tenant].record([use], self.now) == 1
        assert self.value(tenant, call, *given, self.now) == new

    @rule(tenant=tenant_names, batch=st.lists(uses, min_size=2, max_size=5))
    def record_accesses(self, tenant: str, batch: list[Mapping[str, Any]]) -> None:
        told = [use for one in batch if (use := self._use(tenant, one)) is not None]
        call = "recall.record_accesses(%s::jsonb, %s)"
        if not all(self._can_be(tenant, use) for use in told):
            self.refused(tenant, call, document(told), self.now)
            return
        new = self.value(tenant, call, document(told), self.now)
        assert new == self.tenants[tenant].record(told, self.now)

    @rule(tenant=tenant_names, number=picks)
    def reach_for_what_is_not_ones_own(self, tenant: str, number: int) -> None:
        """Every function that takes a memory, with one of the other tenant's."""
        strange, own = self.pick(self.other(tenant), number), self.pick(tenant, number)
        if strange is None or own is None:
            return
        for call, given in {
            "recall.record_access(%s, p_now => %s)": (strange.id, self.now),
            "recall.forget(%s, true, %s)": (strange.id, self.now),
            "recall.pin(%s, true, %s)": (strange.id, self.now),
            "recall.link(%s, %s, p_now => %s)": (own.id, strange.id, self.now),
            "recall.supersede(%s, %s, %s)": (strange.id, own.id, self.now),
            "recall.require_memory(%s)": (strange.id,),
        }.items():
            self.refused(tenant, call, *given)
        assert self.value(tenant, "recall.vitality(%s, %s)", strange.id, self.now) is None
        assert self.sql(tenant, "SELECT * FROM recall.explain_vitality(%s, %s)", strange.id, self.now) == []
        assert self.sql(tenant, "SELECT * FROM recall.associates(%s, 9, %s)", strange.id, self.now) == []

    @rule(
        tenant=tenant_names, word=st.sampled_from(WORDS), session=sessions,
        roles=st.sampled_from([None, ["user"]]),
        layers=st.sampled_from([None, LAYERS[:2]]), tags=st.sampled_from([None, ["red"]]),
        hidden=st.fixed_dictionaries({name: st.booleans() for name in HIDDEN}), logged=st.booleans(),
    )  # fmt: skip
    def search(
        self, tenant: str, word: str, session: str | None, layers: list[str] | None, roles: list[str] | None,
        tags: list[str] | None, hidden: Mapping[str, bool], logged: bool,
    ) -> None:  # fmt: skip
        model = self.tenants[tenant]
        if logged:
            include = {f"include_{name}": hidden[name] for name in HIDDEN}
            request = {
                "query": word, "k": 100, "layers": layers, "roles": roles, "tags": tags, "explain": False,
                "session_id": session, **include,
            }  # fmt: skip
            rows = self.sql(
                tenant, "SELECT * FROM recall.search_and_log(%s, p_now => %s)", json.dumps(request), self.now
            )
        else:
            rows = self.sql(
                tenant,
                "SELECT * FROM recall.search(%s, p_k => 100, p_layers => %s, p_roles => %s, p_tags => %s, "
                "p_include_archived => %s, p_include_superseded => %s, p_include_invalid => %s, "
                "p_explain => false, p_session_id => %s, p_now => %s)",
                word, layers, roles, tags, *[hidden[name] for name in HIDDEN], session,
                self.now,
            )  # fmt: skip
        found = {row["id"]: row for row in rows if row["id"] is not None}
        fitting = {
            one.id for one in model.memories.values()
            if self._visible(one, hidden) and (layers is None or one.layer in layers)
            and (roles is None or one.role in roles) and (tags is None or set(tags) <= set(one.tags))
        }  # fmt: skip
        assert set(found) <= fitting
        assert {one for one in fitting if word in model.memories[one].body} <= set(found)
        for one, row in found.items():
            assert row["superseded_by"] == model.memories[one].superseded_by
            assert set(row["supersedes"]) == {m.id for m in model.memories.values() if m.superseded_by == one}
            if not model.memories[one].waiting:
                told = model.terms(model.memories[one], self.now).vitality
                assert abs(row["vitality"] - told) <= 1e-6 * told
        if logged:
            self._logged(tenant, rows[0]["search_id"] if rows else None, list(found), session)

    def _visible(self, one: Remembered, hidden: Mapping[str, bool]) -> bool:
        outlived = one.valid_until is not None and one.valid_until <= self.now
        expired = one.live and one.expires is not None and one.expires <= self.now
        return (
            (one.live or hidden["archived"])
            and (one.superseded_by is None or hidden["superseded"])
            and (hidden["invalid"] or not (outlived or expired))
        )

    def _logged(self, tenant: str, search: int, shown: list[int], session: str | None) -> None:
        model = self.tenants[tenant]
        model.show(shown, session, self.now)
        model.queued += bool(shown)
        model.searches[search] = (session, dict.fromkeys(shown, None), self.now)

    @rule(tenant=tenant_names, numbers=st.lists(picks, min_size=1, max_size=3), session=sessions)
    def log_shown(self, tenant: str, numbers: list[int], session: str | None) -> None:
        picked = [self.pick(tenant, number) for number in numbers]
        shown = list(dict.fromkeys(memory.id for memory in picked if memory is not None))
        strange = self.pick(self.other(tenant), numbers[0])
        given = [*shown, strange.id] if strange is not None else shown
        search = self.value(tenant, "recall.log_shown(%s, %s, %s, 'who?')", given, session, self.now)
        self._logged(tenant, search, shown, session)

    @rule(tenant=tenant_names, number=picks, place=picks, good=st.booleans())
    def judge(self, tenant: str, number: int, place: int, good: bool) -> None:
        """What was shown was used, or rejected; in the other tenant's name neither."""
        model = self.tenants[tenant]
        if not model.searches:
            return
        search = sorted(model.searches)[number % len(model.searches)]
        session, verdicts, _ = model.searches[search]
        shown = [one for one in verdicts if one in model.memories]
        call = f"recall.{'used' if good else 'rejected'}(%s, %s, %s)"
        self.refused(self.other(tenant), call, search, shown, self.now)
        if not shown:
            return
        one, verdict = shown[place % len(shown)], "used" if good else "rejected"
        assert self.value(tenant, call, search, [one], self.now) == (verdicts[one] != verdict)
        verdicts[one] = verdict
        if good:
            use = {"memory_id": one, "kind": "used", "at": self.now, "session_id": session}
            model.record([use | {"idempotency_key": f"recall.used {search} {one}"}], self.now)

    @rule(tenant=tenant_names, number=picks, what=st.sampled_from(["associates", "feedback", "stock"]))
    def ask(self, tenant: str, number: int, what: str) -> None:
        match what:
            case "associates":
                self.look_for_associates(tenant, number)
            case "feedback":
                self.look_back(tenant)
            case _:
                self.take_stock(tenant)

    def look_for_associates(self, tenant: str, number: int) -> None:
        model, memory = self.tenants[tenant], self.pick(tenant, number)
        if memory is None:
            return
        rows = self.sql(tenant, "SELECT * FROM recall.associates(%s, 99, %s)", memory.id, self.now)
        told = {row["memory_id"]: (row["sessions"], row["association"]) for row in rows}
        expected = model.associations.of(memory.id, self.now, model.setting("association.half_life_days"))
        assert set(told) == set(expected)
        for other, numbers in expected.items():
            assert told[other] == pytest.approx(numbers, rel=1e-6)

    def look_back(self, tenant: str) -> None:
        """How often each memory was shown, used and rejected."""
        model = self.tenants[tenant]
        expected: dict[int, list[int]] = {}
        for _, verdicts, _ in model.searches.values():
            for one, verdict in verdicts.items():
                if one in model.memories:
                    row = expected.setdefault(one, [0, 0, 0])
                    row[0] += 1
                    row[1] += verdict == "used"
                    row[2] += verdict == "rejected"
        rows = self.sql(tenant, "SELECT * FROM recall.feedback_by_memory()")
        assert {row["id"]: [row["shown"], row["used"], row["rejected"]] for row in rows} == expected

    def take_stock(self, tenant: str) -> None:
        model = self.tenants[tenant]
        status = self.value(tenant, "recall.status(%s)", self.now)
        made = sum(relation != "co_access" for _, _, relation in model.links.made)
        assert (status["memories"], status["archived"]) == (
            len(model.live()), len(model.memories) - len(model.live()))  # fmt: skip
        assert (status["links"], status["links_pending"]) == (made, len(model.links.waiting))
        counted = sum(status["access_counts"].values())
        assert counted == sum(len(memory.log) for memory in model.memories.values())
