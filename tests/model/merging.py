"""Merges of duplicates: what a plan may propose, and what comes of it, as howto/plans.md tells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import combinations

from tests.model.book import Book
from tests.model.links import Joined, Triple
from tests.model.noted import Noted
from tests.model.writing import APART

STAYS = {"next", "supersedes"}
"""Relations of a memory that goes which its keeper does not get."""


@dataclass
class Cluster:
    """Memories to merge into their keeper, and what that has given it."""

    keeper: int
    members: list[int]
    tags: list[str] = field(default_factory=list)


@dataclass
class Plan:
    """A plan that a tenant has, and when it was applied."""

    id: int
    clusters: list[Cluster]
    applied: datetime | None = None

    @property
    def outcomes(self) -> dict[int, str]:
        """What applying it comes to."""
        merged = {one: "merged" for each in self.clusters for one in each.members}
        return {each.keeper: "kept" for each in self.clusters} | merged


def words(memory: Noted) -> Counter[str]:
    return Counter(re.findall(r"\w+", " ".join(memory.content).lower()))


def alike(one: Noted, other: Noted) -> bool:
    """Whether all but their texts allows two memories to be the same."""
    drafts = one.draft, other.draft
    days = [draft["occurred_at"] for draft in drafts if draft.get("occurred_at") is not None]
    return (
        one.layer == other.layer
        and all(len({draft.get(name) for draft in drafts} - {None}) < 2 for name in ("author", "role"))
        and (len(days) < 2 or abs(days[0] - days[1]) < timedelta(days=1))
        and all(len({draft.get(name) for draft in drafts}) == 1 for name in ("valid_from", "valid_until"))
    )


def linked_apart(book: Book, one: int, other: int) -> bool:
    return any({one, other} == {source, target} and relation in APART
               for source, target, relation in book.links.made)  # fmt: skip


def check(book: Book, plan: Plan, now: datetime) -> None:
    """Asserts that a plan proposes what it may, and all that says the same word for word."""
    planned = [one for each in plan.clusters for one in (each.keeper, *each.members)]
    assert len(planned) == len(set(planned)), plan
    for each in plan.clusters:
        keeper = book.memories[each.keeper]
        same = all(words(book.memories[one]) == words(keeper) for one in each.members)
        for one in each.members:
            member = book.memories[one]
            what = (keeper, member, plan)
            assert all(m.archived is None and m.superseded_by is None for m in (keeper, member)), what
            assert not member.pinned, what
            assert alike(keeper, member), what
            assert not linked_apart(book, keeper.id, one), what
            assert set(words(member)) <= set(words(keeper)), what
            if same and not keeper.pinned:
                assert book.sum(keeper, now) > book.sum(member, now) - 1e-9, what
    live = [book.memories[one] for one in book.live - book.kept_apart]
    for first, second in combinations([each for each in live if not each.history], 2):
        twins = first.content == second.content and alike(first, second)
        if twins and not (first.pinned and second.pinned):
            assert {first.id, second.id} & set(planned), (first, second, plan)


def apply(book: Book, plan: Plan, face: str, now: datetime) -> None:
    """Merges each cluster, as planned a moment ago."""
    plan.applied = now
    for each in plan.clusters:
        _merge(book, each, face, now)


def _merge(book: Book, cluster: Cluster, face: str, now: datetime) -> None:
    keeper, ids = book.memories[cluster.keeper], sorted(cluster.members)
    members = [book.memories[one] for one in ids]
    book.kept_apart |= {keeper.id, *ids}
    keeper.log += [replace(event, merged_from=each.id) for each in members for event in each.log]
    book.links.made |= _moved(book, keeper.id, ids)
    held = set(keeper.draft["tags"])
    cluster.tags = sorted({tag for each in members for tag in each.draft["tags"]} - held)
    if cluster.tags:
        keeper.past.replace(keeper.draft, now, face, delete_oldest=False)
        keeper.draft = {**keeper.draft, "tags": [*keeper.draft["tags"], *cluster.tags]}
        book.changes.add("rewritten", [keeper.id], now)
    for each in members:
        each.archive(now, "merged")
        each.superseded_by, each.superseded_at = keeper.id, now
        book.links.made.setdefault((keeper.id, each.id, "supersedes"), Joined(1.0, now, merged_from=each.id))
    book.changes.add("merged", ids, now, keeper.id)


def _moved(book: Book, keeper: int, ids: Sequence[int]) -> dict[Triple, Joined]:
    """Copies of links with live memories that the keeper does not have; of several the first member's."""
    copies: dict[Triple, Joined] = {}
    for one in ids:
        for (source, target, relation), joined in book.links.made.items():
            if one not in (source, target) or relation in STAYS:
                continue
            other = target if source == one else source
            copy = (keeper, other, relation) if source == one else (other, keeper, relation)
            if other in (keeper, *ids) or book.memories[other].archived is not None:
                continue
            if copy not in book.links.made:
                copies.setdefault(copy, replace(joined, drafted=False, merged_from=one))
    return copies


def undo(book: Book, plan: Plan, face: str, now: datetime) -> int:
    """Takes all of it back but for what has happened to keepers since. Returns how many memories are back."""
    back = 0
    for each in reversed(plan.clusters):
        ids = [one for one in each.members if one in book.memories]
        if keeper := book.memories.get(each.keeper):
            keeper.log = [event for event in keeper.log if event.merged_from not in ids]
            if each.tags:
                kept = [tag for tag in keeper.draft["tags"] if tag not in each.tags]
                draft = {**keeper.draft, "tags": kept}
                if plan.applied is None or not keeper.past.take_back(draft, plan.applied):
                    keeper.past.replace(keeper.draft, now, face, delete_oldest=False)
                keeper.draft = draft
                book.changes.add("rewritten", [keeper.id], now)
        book.links.made = {
            triple: joined for triple, joined in book.links.made.items()
            if joined.merged_from not in ids or each.keeper not in triple[:2]
        }  # fmt: skip
        back += sum(_restore(book, each.keeper, book.memories[one], plan.applied, now) for one in ids)
    plan.applied = None
    return back


def _restore(book: Book, keeper: int, member: Noted, merged: datetime | None, now: datetime) -> bool:
    """As if it had never been archived; whether it still was."""
    back = member.archived is not None and member.archived.at == merged
    place = next((n for n, (at, gone) in enumerate(member.history) if at == merged and gone), None)
    if place is not None:
        del member.history[place : place + 2]
    if back:
        member.archived = None
    freed = member.superseded_by == keeper and (keeper, member.id, "supersedes") not in book.links.made
    if freed:
        member.superseded_by = member.superseded_at = None
    if back or (freed and member.archived is None):
        book.changes.add("restored", [member.id], now)
    return back
