"""Pruning from Python: plan, review, apply, search without what is archived, use it, undo."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from pgrecall import Draft, DraftLink, InvalidInput, Memory, PrunePlan
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.prune.prune_tools import LONG_AGO, document, notes

pytestmark = pytest.mark.in_turns

LATER = NOW + timedelta(hours=1)


def remember_ring(memory: Memory) -> dict[str, int]:
    """A ring of six in which two opposite notes are candidates, and a candidate that stands alone."""
    drafts = [
        Draft(
            f"what is known about {name}",
            key=name,
            title=name.capitalize(),
            layer="activity",
            links=(DraftLink(following),),
            pinned=name not in ("ash", "doe"),
        )
        for name, following in zip(
            ("ash", "bay", "cod", "doe", "elk", "fox"),
            ("bay", "cod", "doe", "elk", "fox", "ash"),
            strict=True,
        )
    ]
    drafts.append(Draft("a dusty shelf of nautical almanacs", key="shelf", layer="activity"))
    stored = memory.remember_many(drafts, now=LONG_AGO)
    return {str(row.key): row.id for row in stored}


def found(memory: Memory, query: str, **options: Any) -> list[str | None]:
    return [hit.key for hit in memory.search(query, now=LATER, **options).hits]


def test_a_plan_is_made_read_and_listed(memory: Memory, query: Query) -> None:
    ids = remember_ring(memory)
    made = memory.plans.prune(max_share=1.0, now=NOW)
    assert isinstance(made, PrunePlan)
    assert (made.state, made.created_at, made.options.max_share) == ("planned", NOW, 1.0)
    assert {item.key for item in made.items} in ({"ash", "shelf"}, {"doe", "shelf"})
    assert [item.place for item in made.items] == [1, 2]
    assert (made.report.live, made.report.eligible, made.report.planned, made.report.staying) == (7, 3, 2, 1)
    [kept] = made.report.kept_back
    assert kept.cut_size == 2
    assert {example.id for example in kept.examples} < set(ids.values())
    assert {link.relation for link in made.report.links} == {"links_to"}
    assert memory.plans.get(made.id) == made == PrunePlan.from_document(document(query, made.id))
    [listed] = memory.plans.list()
    assert (listed.id, listed.planned, listed.kept_back, listed.archived) == (made.id, 2, 1, 0)


def test_archived_memories_are_found_on_request_and_rise_again_when_used(memory: Memory) -> None:
    remember_ring(memory)
    assert found(memory, "nautical almanacs")[0] == "shelf"
    made = memory.plans.prune(max_share=1.0, now=NOW)
    outcome = memory.plans.apply(made.id, now=NOW)
    assert set(outcome.archived) == {item.id for item in made.items}
    assert outcome.skipped == ()
    assert "shelf" not in found(memory, "nautical almanacs")
    assert found(memory, "nautical almanacs", include_archived=True)[0] == "shelf"
    memory.record_access("shelf", "used", now=LATER)
    assert found(memory, "nautical almanacs")[0] == "shelf"
    assert memory.get("shelf", now=LATER).archived_at is None
    undone = memory.plans.undo(made.id, now=LATER)
    assert (undone.plan, undone.restored, undone.back_before) == (made.id, 1, 1)
    assert memory.plans.get(made.id).state == "undone"


def test_what_is_used_since_is_skipped_with_a_note(memory: Memory) -> None:
    remember_ring(memory)
    made = memory.plans.prune(max_share=1.0, now=NOW)
    memory.record_access("shelf", "used", now=NOW)
    outcome = memory.plans.apply(made.id, now=LATER)
    assert [(result.outcome, result.note) for result in outcome.skipped] == [("skipped", "used since")]
    assert len(outcome.archived) == 1


def test_a_plan_of_many_pages_is_read_whole(
    memory: Memory, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.nouns.plans.operations.PAGE", 4)
    notes(query, [{"key": f"n{i}"} for i in range(10)])
    made = memory.plans.prune(max_share=1.0, now=NOW)
    assert [item.place for item in made.items] == list(range(1, 11))
    assert made == PrunePlan.from_document(document(query, made.id))


def test_layers_and_caps_reach_the_plan(memory: Memory, query: Query) -> None:
    notes(
        query,
        [{"key": f"{layer}{i}", "layer": layer} for layer in ("activity", "knowledge") for i in range(5)],
    )
    made = memory.plans.prune(max_count=3, max_share=1.0, grace_days=60, layers=["knowledge"], now=NOW)
    assert {item.layer for item in made.items} == {"knowledge"}
    assert (len(made.items), made.report.capped, made.options.layers) == (3, 2, ("knowledge",))
    assert made.options.grace_days == 60


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_count": 0}, "prune.max_count is 0"),
        ({"max_count": 10**12}, "max_count is 1000000000000"),
        ({"max_share": 1.5}, "prune.max_share is 1.5"),
        ({"grace_days": -1}, "prune.grace_days is -1"),
        ({"layers": ["dreams"]}, "There is no layer 'dreams'"),
        ({"layers": ["a\x00"]}, "NUL"),
    ],
)
def test_bad_options_are_one_sentence(memory: Memory, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        memory.plans.prune(**options)
    assert memory.plans.list() == ()


@pytest.mark.parametrize("number", [4711, 0, -1, 10**30])
def test_an_unknown_plan_is_bad_input(memory: Memory, number: int) -> None:
    for call in (memory.plans.get, memory.plans.apply, memory.plans.undo, memory.plans.drop):
        with pytest.raises(InvalidInput, match=f"There is no plan {number} in this tenant"):
            call(number)


def test_a_limit_out_of_bounds(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="p_limit is 0"):
        memory.plans.list(limit=0)


def test_a_document_has_the_shape_of_the_values(memory: Memory, query: Query) -> None:
    remember_ring(memory)
    made = memory.plans.prune(max_share=1.0, now=NOW)
    told = document(query, made.id)
    assert set(told) == {field.name for field in dataclasses.fields(made)}
    assert set(told["report"]) == {field.name for field in dataclasses.fields(made.report)}
    assert set(told["items"][0]) == {field.name for field in dataclasses.fields(made.items[0])}


@pytest.mark.parametrize("strange", [2**63, -(2**64), 99])
def test_an_id_that_no_plan_has_is_named(memory: Memory, strange: int) -> None:
    plan = memory.plans.prune(now=NOW)
    with pytest.raises(InvalidInput, match=f"lan {plan.id} has no (memory|part) {strange}"):
        memory.plans.apply(plan.id, parts=[strange], now=NOW)
    assert memory.plans.get(plan.id).state == "planned"
