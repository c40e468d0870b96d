"""Prune plans: what speaks against an item that was planned a while ago, as howto/plans.md tells."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tests.model.book import Book
from tests.model.parameters import REFERENCES


@dataclass
class Pruning:
    """A plan: what of each of its memories was true when it was made."""

    made: datetime
    items: dict[int, tuple[tuple[str, str], int]]
    state: str = "planned"


def planned(book: Book, ids: list[int], now: datetime) -> Pruning:
    return Pruning(now, {one: (book.memories[one].content, links_in(book, one)) for one in ids})


def objection(book: Book, one: int, plan: Pruning, now: datetime) -> str | None:
    """Why a memory must not be archived any more; the first reason that holds."""
    memory, (content, cited) = book.memories[one], plan.items[one]
    if memory.archived is not None:
        by, reason = memory.archived.plan, memory.archived.reason
        return f"archived by plan {by} already" if by else f"{reason} already"
    log = [*memory.log, *(event for shown, event in book.unfolded if shown == one)]
    told = [event for event in log if event.told >= plan.made]
    linked = book.last_linked(memory)
    reasons = {
        "pinned since": memory.pinned,
        "protected now": book.protected(memory),
        "rewritten since": memory.content != content,
        "used since": any(event.kind != "retrieval" for event in told),
        "shown in results since": bool(told),
        "linked since": (linked is not None and linked >= plan.made) or links_in(book, one) > cited,
        "in the zone": book.zone(memory, now) != "dormant",
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def links_in(book: Book, one: int) -> int:
    """References from live memories to this one."""
    live = book.live
    return sum(
        target == one and source in live and relation in REFERENCES
        for source, target, relation in book.links.made
    )
