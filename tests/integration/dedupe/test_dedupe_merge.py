"""What a merge moves, and that undo takes all of it back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pgrecall import InvalidInput, Memory
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.dedupe.dedupe_tools import CONTRACT, activation, export, problems, store
from tests.integration.versions.settled import all_changes, settle

BODIES = (
    "The red buoy near the north pier of the fishing harbour lost its chain during a storm",
    "All blue boats of the rowing club need fresh paint and new rope before the regatta",
    "Green nets dry beside the wooden sheds where Tom repairs engines of small ferries",
)
LATER = NOW + timedelta(days=1)


def test_changes_include_merges(memory: Memory, query: Query) -> None:
    keeper = store(memory, CONTRACT + " in person.")
    goes = store(memory, CONTRACT + "!")
    plan = memory.plans.dedupe(now=NOW)
    settle(query)
    start = memory.history.cursor()
    memory.plans.apply(plan.id, now=LATER)
    memory.plans.undo(plan.id, now=LATER)
    settle(query)
    assert [(each.kind, each.id, each.other_id) for each in all_changes(memory, start)] == [
        ("merged", goes, keeper),
        ("restored", goes, None),
    ]


def test_a_merge_moves_uses_links_and_tags_to_the_keeper(memory: Memory, query: Query) -> None:
    keeper = store(memory, CONTRACT + " in person.", tags=["harbour"])
    goes = store(memory, CONTRACT + "!", tags=["Contract"], aliases=["the deal"])
    other = store(memory, "The winch was oiled by Tom.")
    query("SELECT recall.link(%s, %s), recall.link(%s, %s, 'mentions')", (goes, other, other, goes))
    memory.record_access(goes, "used", at=NOW - timedelta(days=3), session_id="a", now=NOW)
    memory.record_access(keeper, "used", at=NOW - timedelta(days=5), now=NOW)
    plan = memory.plans.dedupe(now=NOW)
    [cluster] = plan.clusters
    assert (cluster.keeper.id, [member.id for member in cluster.members]) == (keeper, [goes])
    assert cluster.keeper.reason == "It says the most: 1 word more than another."
    assert next((c.change, c.text) for c in cluster.members[0].difference) == (
        "same",
        "Mira signs the harbour contract with the owners",
    )
    assert (cluster.moves.accesses, cluster.moves.links) == (2, 2)
    assert (cluster.moves.tags, cluster.moves.aliases) == (("Contract",), ("the deal",))
    before = export(query)

    outcome = memory.plans.apply(plan.id, now=LATER)
    assert outcome.archived == (goes,)
    assert problems(query) == []
    kept = memory.get(keeper)
    gone = memory.get(goes)
    assert kept is not None
    assert gone is not None
    assert kept.tags == ("harbour", "Contract")
    assert gone.archived_at == LATER
    assert gone.superseded_by == keeper
    assert activation(query, keeper)["n"] == 4
    links = query("SELECT src, dst, relation FROM recall.link WHERE merged_from = %s", (goes,))
    assert {(link["src"], link["dst"], link["relation"]) for link in links} == {
        (keeper, other, "links_to"), (other, keeper, "mentions"), (keeper, goes, "supersedes"),
    }  # fmt: skip

    undone = memory.plans.undo(plan.id, now=LATER)
    assert (undone.restored, undone.back_before) == (1, 0)
    assert export(query) == before
    assert problems(query) == []


def test_vitality_is_the_exact_sum_over_both_logs(memory: Memory, query: Query) -> None:
    first, second = store(memory, CONTRACT), store(memory, CONTRACT + ".")
    for day in range(1, 30):
        memory.record_access((first, second)[day % 2], "used", at=NOW - timedelta(days=day), now=NOW)
    plan = memory.plans.dedupe(now=NOW)
    memory.plans.apply(plan.id, now=NOW)
    keeper = plan.clusters[0].keeper.id
    merged = activation(query, keeper)
    assert merged["n"] == 31
    assert query("SELECT recall.rebuild() AS changed")[0]["changed"] == 0
    assert activation(query, keeper) == merged


def test_uses_of_the_keeper_since_the_merge_survive_its_undoing(memory: Memory, query: Query) -> None:
    keeper, goes = store(memory, CONTRACT + " soon"), store(memory, CONTRACT)
    memory.record_access(goes, "used", at=NOW - timedelta(days=2), now=NOW)
    plan = memory.plans.dedupe(now=NOW)
    memory.plans.apply(plan.id, now=NOW)
    memory.record_access(keeper, "used", at=LATER, now=LATER)
    memory.plans.undo(plan.id, now=LATER)
    assert activation(query, keeper)["n"] == 2
    assert activation(query, goes)["n"] == 2
    assert problems(query) == []
    assert query("SELECT recall.rebuild() AS changed")[0]["changed"] == 0


def test_a_memory_changed_since_the_plan_is_skipped_with_a_note(memory: Memory, query: Query) -> None:
    pairs = [(store(memory, body + " clearly"), store(memory, body)) for body in BODIES]
    plan = memory.plans.dedupe(now=NOW)
    assert plan.report.clusters == 3
    memory.edit(pairs[0][1], body="A quite different thing", now=NOW)
    memory.pin(pairs[1][1], now=NOW)
    memory.forget(pairs[2][0], now=NOW)
    outcome = memory.plans.apply(plan.id, now=NOW)
    assert outcome.archived == ()
    notes = {result.id: result.note for result in outcome.skipped}
    assert notes[pairs[0][1]] == "rewritten since"
    assert notes[pairs[1][1]] == "pinned since"
    assert notes[pairs[2][0]] == "forgotten already"
    assert notes[pairs[2][1]] == "its keeper was forgotten already"
    assert notes[pairs[0][0]] == "nothing is left to merge into it"
    assert problems(query) == []


def test_only_the_chosen_clusters_are_merged(memory: Memory) -> None:
    for body in BODIES[:2]:
        store(memory, body + " clearly")
        store(memory, body)
    plan = memory.plans.dedupe(now=NOW)
    with pytest.raises(InvalidInput, match="has no cluster 9"):
        memory.plans.apply(plan.id, parts=[9], now=NOW)
    outcome = memory.plans.apply(plan.id, parts=[2], now=NOW)
    assert len(outcome.archived) == 1
    assert {result.note for result in outcome.skipped} == {"not chosen"}
    one, two = plan.clusters
    assert [result.id for result in outcome.skipped] == [one.keeper.id, one.members[0].id]
    assert outcome.archived == (two.members[0].id,)


def test_later_merges_are_undone_first(memory: Memory, query: Query) -> None:
    first = store(memory, CONTRACT + " soon")
    store(memory, CONTRACT)
    before = export(query)
    one = memory.plans.dedupe(now=NOW)
    memory.plans.apply(one.id, now=NOW)
    third = store(memory, CONTRACT + " soon enough", at=NOW)
    middle = export(query)
    two = memory.plans.dedupe(now=LATER)
    outcome = memory.plans.apply(two.id, now=LATER)
    assert outcome.archived == (first,)
    assert activation(query, third)["n"] == 3
    with pytest.raises(InvalidInput, match=f"Dedupe plan {two.id} has merged a memory of plan"):
        memory.plans.undo(one.id, now=LATER)
    memory.plans.undo(two.id, now=LATER)
    assert export(query) == middle
    memory.plans.undo(one.id, now=LATER)
    memory.forget(third, hard=True)
    assert problems(query) == []
    texts = [[line for line in lines if line.startswith('{"memory"')] for lines in (before, export(query))]
    assert texts[0] == texts[1]


def test_a_merged_memory_forgotten_for_good_leaves_no_trace(memory: Memory, query: Query) -> None:
    keeper, goes = store(memory, CONTRACT + " soon"), store(memory, CONTRACT)
    memory.record_access(goes, "used", at=NOW - timedelta(days=2), now=NOW)
    plan = memory.plans.dedupe(now=NOW)
    memory.plans.apply(plan.id, now=NOW)
    assert activation(query, keeper)["n"] == 3
    memory.forget(goes, hard=True)
    assert activation(query, keeper)["n"] == 1
    [left] = query("SELECT recall_private.count_rows_about('acme', ARRAY[%s::bigint]) AS rows", (goes,))
    assert left["rows"] == {}
    assert problems(query) == []
    assert memory.plans.undo(plan.id, now=LATER).restored == 0
    assert problems(query) == []


def test_a_keeper_forgotten_for_good_loses_nothing_of_the_merged(memory: Memory, query: Query) -> None:
    keeper, goes = store(memory, CONTRACT + " soon"), store(memory, CONTRACT)
    memory.record_access(goes, "used", at=NOW - timedelta(days=2), now=NOW)
    plan = memory.plans.dedupe(now=NOW)
    memory.plans.apply(plan.id, now=NOW)
    memory.forget(keeper, hard=True)
    assert activation(query, goes)["n"] == 2
    assert memory.plans.get(plan.id).clusters == ()
    assert memory.plans.undo(plan.id, now=LATER).restored == 1
    assert problems(query) == []
    back = memory.get(goes)
    assert back is not None
    assert back.archived_at is None
    assert back.superseded_by is None
