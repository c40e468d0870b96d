"""Merging memories that a person has chosen, by a plan; and the versions that a merge makes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pgrecall import InvalidInput, Memory, MemoryNotFound
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.dedupe.dedupe_tools import export, problems, store

LATER = NOW + timedelta(days=1)


def test_a_person_may_merge_what_no_plan_would_find(memory: Memory, query: Query) -> None:
    """Other words, numbers, authors and layers."""
    keeper = store(memory, "The ferry leaves at seven.", key="keeper", author="Mira", tags=["boats"])
    goes = store(memory, "A boat leaves at 8.", key="goes", author="Jon", tags=["times"], layer="episodic")
    memory.record_access(goes, "used", at=NOW - timedelta(days=3), now=NOW)
    assert memory.plans.dedupe(now=NOW).report.planned == 0
    before = export(query)
    plan = memory.plans.merge("keeper", ["goes", goes], now=NOW)
    assert plan.options.chosen
    assert (plan.report.clusters, plan.report.planned, plan.report.contradictions) == (1, 1, ())
    [cluster] = plan.clusters
    assert (cluster.keeper.id, cluster.keeper.reason) == (keeper, "It was chosen to stay.")
    [member] = cluster.members
    assert (member.id, member.reason, member.similarity) == (goes, "It was chosen to be merged.", None)
    assert "".join(run.text for run in member.difference if run.change != "added") == "A boat leaves at 8."
    assert export(query) == before, "a plan changes nothing"
    assert memory.plans.apply(plan.id, now=LATER).archived == (goes,)
    assert problems(query) == []
    assert memory.get(goes).superseded_by == keeper
    assert memory.get(keeper).body == "The ferry leaves at seven."
    assert set(memory.get(keeper).tags) == {"boats", "times"}
    assert memory.plans.undo(plan.id, now=LATER).restored == 1
    assert export(query) == before
    assert problems(query) == []


def test_what_has_changed_since_is_skipped(memory: Memory) -> None:
    keeper, goes = store(memory, "One."), store(memory, "Two.")
    plan = memory.plans.merge(keeper, [goes], now=NOW)
    memory.edit(goes, body="Three.", now=NOW)
    assert [result.note for result in memory.plans.apply(plan.id, now=LATER).skipped][-1] == "rewritten since"


def test_what_cannot_be_merged_is_refused(memory: Memory) -> None:
    one, other, pinned, gone = (store(memory, f"Number {n}.", key=f"n{n}") for n in range(4))
    memory.pin(pinned)
    memory.forget(gone)
    memory.link(one, other, "contradicts")
    for keeper, goes, said in (
        (one, [one], "cannot be merged into itself"),
        (one, [pinned], "is pinned, so it must stay"),
        (one, [gone], "is archived"),
        (gone, [other], "is archived"),
        (one, [other], "are linked: contradicts"),
        (other, ["n0"], "are linked: contradicts"),
        (one, [], "0 memories cannot be merged into one"),
        (one, [1] * 3 + list(range(10_000, 10_200)), "cannot be merged into one"),
    ):
        with pytest.raises(InvalidInput, match=said):
            memory.plans.merge(keeper, goes)
    for keeper, goes in (("nobody", [one]), (one, ["nobody"]), (one, [2**62]), (2**70, [one])):
        with pytest.raises(MemoryNotFound):
            memory.plans.merge(keeper, goes)
    with pytest.raises(MemoryNotFound):
        memory.for_tenant("other").plans.merge(one, [other])
    assert memory.plans.list() == ()


def test_a_chosen_merge_travels_with_an_export(memory: Memory, tmp_path: Path) -> None:
    keeper, goes = store(memory, "One.", key="one"), store(memory, "Two.", key="two")
    plan = memory.plans.merge(keeper, [goes], now=NOW)
    memory.plans.apply(plan.id, now=NOW)
    memory.export.write(tmp_path / "all.jsonl")
    other = memory.for_tenant("other")
    other.export.read(tmp_path / "all.jsonl")
    [summary] = other.plans.list()
    assert other.plans.get(summary.id).options.chosen
    assert other.plans.undo(summary.id).restored == 1


def test_tags_of_a_merge_make_a_version_which_its_undo_takes_away(memory: Memory, query: Query) -> None:
    keeper = store(memory, "One.", tags=["a"])
    memory.edit(keeper, body="One, again.", now=NOW - timedelta(days=2))
    goes = store(memory, "Two.", tags=["b"], aliases=["second"])
    before, said = export(query), memory.history.versions(keeper)
    plan = memory.plans.merge(keeper, [goes], now=NOW)
    memory.plans.apply(plan.id, now=LATER)
    present, kept, first = memory.history.versions(keeper)
    assert (present.tags, kept.tags, first.body) == (("a", "b"), ("a",), "One.")
    assert {one.field for one in memory.history.diff(keeper, kept.number)} == {"tags", "aliases"}
    assert problems(query) == []
    memory.plans.undo(plan.id, now=LATER)
    assert memory.history.versions(keeper) == said
    assert export(query) == before


def test_an_undo_after_an_edit_is_a_version_itself(memory: Memory, query: Query) -> None:
    keeper, goes = store(memory, "One.", tags=["a"]), store(memory, "Two.", tags=["b"])
    plan = memory.plans.merge(keeper, [goes], now=NOW)
    memory.plans.apply(plan.id, now=LATER)
    memory.edit(keeper, body="One, again.", now=LATER + timedelta(hours=1))
    memory.plans.undo(plan.id, now=LATER + timedelta(hours=2))
    assert [(version.body, version.tags) for version in memory.history.versions(keeper)] == [
        ("One, again.", ("a",)),
        ("One, again.", ("a", "b")),
        ("One.", ("a", "b")),
        ("One.", ("a",)),
    ]
    assert problems(query) == []


@pytest.mark.parametrize("most", [0, 1])
def test_an_undo_brings_versions_back_however_few_are_kept(memory: Memory, query: Query, most: int) -> None:
    keeper, goes = store(memory, "One.", tags=["a"]), store(memory, "Two.", tags=["b"])
    memory.edit(keeper, body="One, again.", now=NOW)
    memory.settings.set("versions.per_memory", most)
    plan = memory.plans.merge(keeper, [goes], now=NOW)
    before = export(query)
    memory.plans.apply(plan.id, now=LATER)
    memory.plans.undo(plan.id, now=LATER)
    assert export(query) == before
