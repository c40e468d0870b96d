"""Rules of maintenance: the jobs' functions, and plans made, applied and undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.integration.prune.prune_tools import cut_off
from tests.stateful.base import TenantMachine, picks, tenant_names
from tests.stateful.remembered import REFERENCES
from tests.stateful.tenant import Tenant


@dataclass
class Planned:
    """A plan: what of each of its memories was true when it was made."""

    made: datetime
    items: dict[int, tuple[tuple[str, str], int]]
    state: str = "planned"


class Maintenance(TenantMachine):
    def __init__(self) -> None:
        super().__init__()
        self.plans: dict[str, dict[int, Planned]] = {tenant: {} for tenant in self.tenants}

    @rule(tenant=tenant_names, job=st.sampled_from(["fold", "refresh", "expire", "look_at_graph", "rebuild"]))
    def run_job(self, tenant: str, job: str) -> None:
        getattr(self, job)(tenant)

    def refresh(self, tenant: str) -> None:
        """The cached vitality and zone of reports, and statistics."""
        model = self.tenants[tenant]
        self.fold(tenant)
        last = max(model.memories, default=None)
        assert self.value(tenant, "recall.refresh_vitality(0, 10000, %s)", self.now) == last
        assert self.value(tenant, "recall.refresh_statistics(%s)", self.now) == len(model.live())
        cached = "SELECT memory_id, vitality, zone FROM recall.activation WHERE tenant = %s"
        for row in self.sql(tenant, cached, tenant):
            memory = model.memories[row["memory_id"]]
            assert row["vitality"] == pytest.approx(model.terms(memory, self.now).vitality, abs=0.005)
            assert row["zone"] == model.zone(memory, self.now)

    def look_at_graph(self, tenant: str) -> None:
        model = self.tenants[tenant]
        [report] = self.sql(tenant, "SELECT * FROM recall.refresh_graph(%s)", self.now)
        cuts = "SELECT memory_id, cut_size FROM recall.activation WHERE tenant = %s AND cut_size > 0"
        points = {row["memory_id"]: row["cut_size"] for row in self.sql(tenant, cuts, tenant)}
        model.look_at_graph()
        assert points == {one: m.cut_size for one, m in model.memories.items() if m.cut_size}
        assert report["points"] == len(points)
        assert report["protected"] == sum(model.protected(memory) for memory in model.memories.values())

    @rule(tenant=tenant_names)
    def plan(self, tenant: str) -> None:
        model = self.tenants[tenant]
        self.fold(tenant)
        candidates = model.prune_candidates(self.now)
        rows = self.sql(tenant, "SELECT * FROM recall.prune_candidates(p_now => %s)", self.now)
        assert {row["memory_id"] for row in rows} == set(candidates)
        number = self.value(tenant, "recall.plan_prune(p_max_share => 1, p_now => %s)", self.now)
        planned = [item["id"] for item in self._document(tenant, number)["items"]]
        graph = model.links.graph(model.live())
        assert set(planned) <= set(candidates)
        assert cut_off(graph, set(planned)) == 0
        assert {one for one in candidates if not graph[one]} <= set(planned)
        known = {one: (model.memories[one].content, links_in(model, one)) for one in planned}
        self.plans[tenant][number] = Planned(self.now, known)

    def _document(self, tenant: str, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.value(tenant, "recall.get_plan(%s)", number)
        return found

    @rule(tenant=tenant_names, number=picks)
    def apply(self, tenant: str, number: int) -> None:
        model, plans = self.tenants[tenant], self.plans[tenant]
        if not plans:
            return
        chosen = sorted(plans)[number % len(plans)]
        plan = plans[chosen]
        self.refused(self.other(tenant), "recall.apply_plan(%s, %s)", chosen, self.now)
        if plan.state != "planned" or self.now - plan.made > timedelta(days=7):
            self.refused(tenant, "recall.apply_plan(%s, %s)", chosen, self.now)
            return
        objections = {one: self._objection(model, one, plan) for one in plan.items if one in model.memories}
        rows = self.sql(tenant, "SELECT * FROM recall.apply_plan(%s, %s)", chosen, self.now)
        told = {row["memory_id"]: row["note"] for row in rows}
        assert set(told) == set(objections)
        for one, objection in objections.items():
            if objection is not None:
                assert (told[one] or "archived").startswith(objection), (one, told[one], objection)
            else:
                assert told[one] is None or "cut off" in told[one]
        gone = {one for one, note in told.items() if note is None}
        assert cut_off(model.links.graph(model.live()), gone) == 0
        model.archive(gone, "pruned", self.now, chosen)
        plan.state = "applied"

    def _objection(self, model: Tenant, one: int, plan: Planned) -> str | None:
        memory, (content, cited) = model.memories[one], plan.items[one]
        told = [row for row in memory.log if row.told >= plan.made]
        linked = model.around(memory).last_linked
        reasons: Mapping[str, bool] = {
            "pinned since": memory.pinned,
            "protected now": model.protected(memory),
            "rewritten since": memory.content != content,
            "used since": any(row.access.kind != "retrieval" for row in told),
            "shown in results since": bool(told),
            "linked since": (linked is not None and linked >= plan.made) or links_in(model, one) > cited,
            "in the zone": model.zone(memory, self.now) != "dormant",
        }
        if memory.archived is not None:
            plan_id, reason = memory.archived.plan, memory.archived.reason
            return f"archived by plan {plan_id} already" if plan_id else f"{reason} already"
        return next((reason for reason, holds in reasons.items() if holds), None)

    @rule(tenant=tenant_names, number=picks)
    def undo(self, tenant: str, number: int) -> None:
        model, plans = self.tenants[tenant], self.plans[tenant]
        if not plans:
            return
        chosen = sorted(plans)[number % len(plans)]
        if plans[chosen].state != "applied":
            self.refused(tenant, "recall.undo_plan(%s, %s)", chosen, self.now)
            return
        back = [m for m in model.memories.values() if m.archived is not None and m.archived.plan == chosen]
        assert self.value(tenant, "recall.undo_plan(%s, %s)", chosen, self.now) == len(back)
        for memory in back:
            memory.archived = None
        plans[chosen].state = "undone"

    def rebuild(self, tenant: str) -> None:
        """Nothing is ever to be mended."""
        self.fold(tenant)
        assert self.value(tenant, "recall.rebuild()") == 0


def links_in(model: Tenant, one: int) -> int:
    """References from live memories to this one."""
    live = model.live()
    return sum(
        target == one and source in live and relation in REFERENCES
        for source, target, relation in model.links.made
    )
