"""A vault of 64 clusters of eight shapes, merged by two plans: undoing them leaves the export as it was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from pgrecall import Draft, DraftLink, Memory
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.dedupe.dedupe_tools import export, problems

OLD, LATER, LAST = NOW - timedelta(days=90), NOW + timedelta(hours=1), NOW + timedelta(hours=2)
NOUNS = ("winch", "ferry", "lamp", "crane", "rope", "buoy", "gate", "net")
PLACES = ("pier", "shed", "quay", "mole", "slip", "lock", "weir", "dock")


def same(text: str, key: str) -> list[Draft]:
    return [Draft(text + mark, key=f"{key}/{place}") for place, mark in enumerate((".", "!"))]


def many(text: str, key: str) -> list[Draft]:
    return [Draft(text + "." * (place % 3), key=f"{key}/{place}") for place in range(7)]


def growing(text: str, key: str) -> list[Draft]:
    endings = ("", " soon", " soon enough")
    return [Draft(text + ending, key=f"{key}/{place}") for place, ending in enumerate(endings)]


def pinned(text: str, key: str) -> list[Draft]:
    return [Draft(text, key=f"{key}/0", pinned=True), Draft(text + "!", key=f"{key}/1")]


def tagged(text: str, key: str) -> list[Draft]:
    return [
        Draft(text, key=f"{key}/{place}", tags=(f"tag{place}", "all"), aliases=(f"{key} {place}",))
        for place in range(3)
    ]


def linked(text: str, key: str) -> list[Draft]:
    """Each links to the next one and to what another cluster has."""
    number = int(key)
    targets = (DraftLink(f"{key}/1"), DraftLink(f"{(number + 7) % 64}/0"))
    return [
        Draft(text + mark, key=f"{key}/{place}", links=targets[place:])
        for place, mark in enumerate((".", "!"))
    ]  # fmt: skip


def in_another_layer(text: str, key: str) -> list[Draft]:
    return [Draft(text, key=f"{key}/{place}", layer="episodic", session_id=key) for place in range(2)]


def untitled(text: str, key: str) -> list[Draft]:
    return [Draft(text, key=f"{key}/0", title=f"Note {key}"), Draft(text, key=f"{key}/1")]


SHAPES: tuple[Callable[[str, str], list[Draft]], ...] = (
    same, many, growing, pinned, tagged, linked, in_another_layer, untitled
)  # fmt: skip


def fill(memory: Memory) -> None:
    """The clusters, with uses, versions, and a few of their memories archived or superseded."""
    drafts = []
    for number in range(64):
        noun, place = NOUNS[number % 8], PLACES[number // 8]
        text = f"Cluster c{number}: the {noun} beside the {place} is greased, painted, tested with care"
        drafts.append(SHAPES[number % 8](text, str(number)))
    for each in drafts:
        memory.remember_many(each, now=OLD)
    kinds = ("used", "read", "reference")
    for number in range(64):
        for use in range(number % 4):
            at = NOW - timedelta(days=1 + number % 50 + use)
            memory.record_access(
                f"{number}/{use % 2}", kinds[use % 3], at=at, session_id=f"s{number % 9}", now=NOW
            )
        if number % 5 == 0:
            memory.edit(f"{number}/0", author="Mira", now=NOW - timedelta(days=3))
            memory.edit(f"{number}/0", author="Tom", now=NOW - timedelta(days=2))
    for number in (9, 17, 25):  # of seven each
        memory.forget(f"{number}/6", now=NOW - timedelta(days=4))
        memory.supersede(f"{number}/5", f"{number}/4", now=NOW - timedelta(days=4))


def test_plans_over_clusters_of_all_shapes_are_undone_exactly(memory: Memory, query: Query) -> None:
    fill(memory)
    memory.settings.set("dedupe.min_similarity", 0.7)
    before = export(query)
    first = memory.plans.dedupe(now=NOW)
    assert first.report.clusters > 45
    half = [cluster.cluster for cluster in first.clusters if cluster.cluster % 2]
    merged = memory.plans.apply(first.id, parts=half, now=LATER).archived
    assert problems(query) == []
    between = export(query)
    second = memory.plans.dedupe(now=LAST)
    rest = memory.plans.apply(second.id, now=LAST).archived
    assert len(merged) > 25
    assert len(rest) > 25
    assert not set(merged) & set(rest)
    assert problems(query) == []
    assert memory.plans.undo(second.id, now=LAST).restored == len(rest)
    assert export(query) == between
    assert memory.plans.undo(first.id, now=LAST).restored == len(merged)
    assert export(query) == before
    assert problems(query) == []
