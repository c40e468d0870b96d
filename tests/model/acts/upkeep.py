"""Acts of upkeep: the jobs, and plans to prune and to merge."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from psycopg.rows import dict_row

from tests.integration.prune.prune_tools import cut_off
from tests.model import filters, merging, pruning
from tests.model.acts.using import Using
from tests.model.acts.writing import Writing
from tests.model.faces import Rows
from tests.model.stage import Face, Reached

JOBS = ("fold", "expire", "statistics", "verify", "rebuild", "vitality", "graph")
ACTIVATIONS = "SELECT memory_id, vitality, zone, cut_size FROM recall.activation WHERE tenant = %s"


class Upkeep(Writing, Using):
    # Jobs

    def job(self, tenant: Reached, _: Face) -> None:
        self.run_job(tenant, self.dice.choice(JOBS))

    def run_job(self, tenant: Reached, name: str) -> None:
        """Runs one job, with the result that the book says."""
        book, sql = tenant.book, tenant.sql
        match name:
            case "fold":
                assert sql.value("fold_accesses()") == book.queued
                assert sql.value("fold_accesses()") == 0
                book.fold()
            case "expire":
                assert sql.value("expire_memories(1000, %s)", self.now) == book.expire(self.now)
            case "statistics":
                assert sql.value("refresh_statistics(%s)", self.now) == len(book.live)
                filters.refresh_medians(book, self.now)
            case "verify":
                found = sql.value("verify(%s)", self.now)
                assert [check for check in found["checks"] if check["problems"]] == []
            case "rebuild":
                self.run_job(tenant, "fold")
                assert sql.value("rebuild()") == 0
            case "vitality":
                self.see_zones(tenant)
            case "graph":
                self.look_at_graph(tenant)

    def activations(self, tenant: Reached) -> Rows:
        reader = self.admin.cursor(row_factory=dict_row)
        return reader.execute(ACTIVATIONS, (tenant.book.tenant,)).fetchall()

    def see_zones(self, tenant: Reached) -> None:
        """The vitality and zone that are kept for reports."""
        book = tenant.book
        last = tenant.sql.value("refresh_vitality(0, 10000, %s)", self.now)
        assert last == max(book.memories, default=None), last
        book.see_zones(self.now)
        for row in self.activations(tenant):
            memory = book.memories[row["memory_id"]]
            assert abs(row["vitality"] - book.terms(memory, self.now).vitality) < 0.005, (row, memory)
            assert book.may_be_in(row["zone"], memory, self.now), (row, memory)

    def look_at_graph(self, tenant: Reached) -> None:
        book = tenant.book
        [report] = tenant.sql.rows("refresh_graph(%s)", self.now)
        book.look_at_graph()
        told = {row["memory_id"]: row["cut_size"] for row in self.activations(tenant)}
        assert told == {one: memory.cut_size for one, memory in book.memories.items()}
        assert report["points"] == sum(size > 0 for size in told.values())
        assert report["protected"] == sum(map(book.protected, book.memories.values()))

    # Plans

    def prune(self, tenant: Reached, face: Face) -> None:
        """Plans what to archive: candidates, of which none is all that holds others together."""
        for job in ("fold", "graph"):
            self.run_job(tenant, job)
        book, sql = tenant.book, tenant.sql
        candidates = book.prune_candidates(self.now)
        rows = sql.rows("prune_candidates(p_now => %s)", self.now)
        assert {row["memory_id"] for row in rows} == candidates
        number = sql.value("plan_prune(p_max_share => 1, p_now => %s)", self.now)
        planned = [item["id"] for item in sql.value("get_plan(%s)", number)["items"]]
        graph = book.links.graph(book.live)
        assert set(planned) <= candidates
        assert cut_off(graph, set(planned)) == 0
        assert {one for one in candidates if not graph[one]} <= set(planned)
        tenant.prunings[number] = pruning.planned(book, planned, self.now)
        self.counts["planned"] += len(planned)
        if self.dice.random() < 0.7:
            between = (self.pin, self.edit, self.record, self.link, self.ask)
            for act in self.dice.sample(between, self.dice.randint(0, 2)):
                act(tenant, face)
            self.apply(tenant, face, number)

    def apply_any(self, tenant: Reached, face: Face) -> None:
        if tenant.prunings:
            self.apply(tenant, face, self.dice.choice(list(tenant.prunings)))

    def apply(self, tenant: Reached, face: Face, number: int) -> None:
        """Applies a prune plan of any age: what has changed since is skipped, with its reason."""
        book = tenant.book
        plan = tenant.prunings[number]
        self.refused(self.other(tenant).sql.apply, number, self.now)
        if plan.state != "planned" or self.now - plan.made > timedelta(days=7):
            self.refused(face.apply, number, self.now)
            return
        objections = {one: pruning.objection(book, one, plan, self.now)
                      for one in plan.items if one in book.memories}  # fmt: skip
        told = {one: note for one, (_, note) in face.apply(number, self.now).items()}
        assert set(told) == set(objections)
        for one, objection in objections.items():
            if objection is not None:
                assert (told[one] or "archived").startswith(objection), (one, told[one], objection)
            else:
                assert told[one] is None or "disconnected without it" in str(told[one]), told[one]
        gone = {one for one, note in told.items() if note is None}
        assert cut_off(book.links.graph(book.live), gone) == 0
        book.archive(gone, "pruned", self.now, number)
        plan.state = "applied"
        self.counts["pruned"] += len(gone)
        if gone and self.dice.random() < 0.5:
            self.record_one(tenant, face, self.dice.choice(sorted(gone)), "used")

    def undo(self, tenant: Reached, face: Face) -> None:
        if not tenant.prunings:
            return
        number = self.dice.choice(list(tenant.prunings))
        plan = tenant.prunings[number]
        self.refused(self.other(tenant).sql.undo, number, self.now)
        if plan.state != "applied":
            self.refused(face.undo, number, self.now)
            return
        back = [
            each for each in tenant.book.memories.values() if each.archived and each.archived.plan == number
        ]
        assert face.undo(number, self.now) == len(back)
        for memory in back:
            tenant.book.restore(memory, self.now)
        plan.state = "undone"

    def dedupe(self, tenant: Reached, face: Face) -> None:
        """Plans which duplicates to merge and merges them; or undoes what was merged."""
        book = tenant.book
        if tenant.merged is not None:
            restored = face.undo(tenant.merged.id, self.now)
            assert restored == merging.undo(book, tenant.merged, face.name, self.now)
            tenant.merged = None
            return
        self.run_job(tenant, "fold")
        found: dict[str, Any] = face.plan_dedupe(self.now)
        plan = merging.Plan(found["id"], [
            merging.Cluster(each["keeper"]["id"], [member["id"] for member in each["members"]])
            for each in found["clusters"]
        ])  # fmt: skip
        merging.check(book, plan, self.now)
        self.refused(self.other(tenant).sql.apply, plan.id, self.now)
        outcomes = {one: outcome for one, (outcome, _) in face.apply(plan.id, self.now).items()}
        assert outcomes == plan.outcomes, (outcomes, plan)
        self.refused(self.other(tenant).sql.undo, plan.id, self.now)
        merging.apply(book, plan, face.name, self.now)
        tenant.merged = plan if plan.clusters else None
        if not plan.clusters:
            assert face.undo(plan.id, self.now) == 0
        self.counts["merged"] += sum(len(each.members) for each in plan.clusters)
