"""Rules of duplicates: a merge hands everything over to the keeper, and its undoing brings all of it back."""

from __future__ import annotations

import re

from hypothesis.stateful import rule

from tests.integration.dedupe.dedupe_tools import export
from tests.stateful.base import GET, picks, tenant_names
from tests.stateful.tenant import Draft, Tenant
from tests.stateful.writing import Writing
from tests.vitality_reference.access_log import fold


class Merging(Writing):
    @rule(tenant=tenant_names, number=picks)
    def merge_and_undo(self, tenant: str, number: int) -> None:
        if memory := self.pick(tenant, number):
            again = Draft(
                f"{memory.body}!", title=memory.title, layer=memory.layer, role=memory.role,
                valid_until=memory.valid_until, expires=memory.expires,
            )  # fmt: skip
            self.remember(tenant, [again], None, None, revive=True)
        model = self.tenants[tenant]
        self.fold(tenant)
        self.value(tenant, "recall.find_duplicates()")
        before = export(self._run, tenant=tenant)
        number = self.value(tenant, "recall.plan_dedupe(p_now => %s)", self.now)
        self.refused(self.other(tenant), "recall.apply_plan(%s, p_now => %s)", number, self.now)
        rows = self.sql(
            tenant,
            "SELECT a.*, i.place AS cluster, i.keeper FROM recall.apply_plan(%s, p_now => %s) a "
            "JOIN recall.plan_item i ON i.plan_id = %s AND i.memory_id = a.memory_id",
            number, self.now, number,
        )  # fmt: skip
        merged = {row["memory_id"]: row["cluster"] for row in rows if row["outcome"] == "merged"}
        for keeper, cluster in ((row["memory_id"], row["cluster"]) for row in rows if row["keeper"]):
            self._compare_merged(tenant, keeper, [one for one, own in merged.items() if own == cluster])
        self.calls["merged"] = self.calls.get("merged", 0) + len(merged)
        read = self.sql(tenant, GET, list(model.memories), self.now)
        assert {row["id"] for row in read if row["archived_at"] is None} == model.live() - set(merged)
        self.refused(self.other(tenant), "recall.undo_plan(%s, %s)", number, self.now)
        assert self.value(tenant, "recall.undo_plan(%s, %s)", number, self.now) == len(merged)
        assert export(self._run, tenant=tenant) == before

    def at_the_end(self, tenant: str) -> None:
        """Once at least in every history."""
        self.merge_and_undo(tenant, 0)
        super().at_the_end(tenant)

    def _compare_merged(self, tenant: str, keeper: int, gone: list[int]) -> None:
        """One memory with the words, the layer and the uses of all of them."""
        model = self.tenants[tenant]
        kept = model.memories[keeper]
        for one in map(model.memories.__getitem__, gone):
            assert one.live
            assert one.layer == kept.layer
            assert words(model, one.id) <= words(model, keeper)
        [row] = self.sql(tenant, "SELECT vitality FROM recall.get(%s, %s)", keeper, self.now)
        together = [told.access for one in (keeper, *gone) for told in model.memories[one].log]
        assert row["vitality"]["accesses"] == fold(together, model.burst).summary.count


def words(model: Tenant, one: int) -> set[str]:
    memory = model.memories[one]
    return set(re.findall(r"\w+", f"{memory.title} {memory.body}".lower()))
