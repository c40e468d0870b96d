"""All that one tenant has, and how lively that makes each memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.model.association import Associations
from tests.model.history import Change, Changes
from tests.model.links import Links
from tests.model.noted import Noted
from tests.model.parameters import PRESETS, SETTINGS, ZONES, Rates
from tests.model.spreading import add_spread
from tests.model.vitality import MINUTE, Aging, Event, Terms, whole, without_repeats


@dataclass
class Search:
    """A logged search, and what it showed that still exists."""

    session: str | None
    shown: list[int]
    at: datetime


@dataclass
class State:
    """One tenant as the model knows it; ids are given by the database."""

    tenant: str
    memories: dict[int, Noted] = field(default_factory=dict)
    links: Links = field(default_factory=Links)
    layers: dict[str, Rates] = field(default_factory=dict)
    settings: dict[str, float] = field(default_factory=dict)
    keys_seen: dict[str, int] = field(default_factory=dict)
    """Idempotency keys, and the memory of each."""
    associations: Associations = field(default_factory=Associations)
    searches: dict[int, Search] = field(default_factory=dict)
    verdicts: dict[tuple[int, int], str] = field(default_factory=dict)
    unfolded: list[tuple[int, Event]] = field(default_factory=list)
    queued: int = 0
    """Searches that are not folded yet."""
    medians: dict[str, float] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
    kept_apart: set[int] = field(default_factory=set)
    """Memories that were merged, or linked as different: dedupe need not compare them again."""
    min_cut: float = 3.0
    """As it was when the graph was last looked at."""

    def setting(self, name: str) -> float:
        return self.settings.get(name, SETTINGS[name])

    @property
    def burst(self) -> timedelta:
        return timedelta(minutes=self.setting("access.burst_minutes"))

    def rates(self, layer: str) -> Rates:
        return self.layers.get(layer) or PRESETS["default"][layer]

    # Memories

    @property
    def live(self) -> set[int]:
        return {each.id for each in self.memories.values() if each.archived is None}

    def by_key(self, key: str | None) -> Noted | None:
        return next((each for each in self.memories.values() if key and each.key == key), None)

    def named(self, target: str) -> int | None:
        """What a link to this name goes to: the memory with that key, else the oldest with that title."""
        if found := self.by_key(target):
            return found.id
        titled = [one.id for one in self.memories.values() if one.content[0].lower() == target.lower()]
        return min(titled, default=None)

    def successors(self, memory_id: int) -> list[int]:
        """What replaces a memory, at any remove, the next first."""
        chain: list[int] = []
        following = self.memories[memory_id].superseded_by
        while following is not None:
            chain.append(following)
            following = self.memories[following].superseded_by
        return chain

    def archive(self, ids: Iterable[int], reason: str, now: datetime, plan: int | None = None) -> list[int]:
        """Archives those that are live, and returns them."""
        gone = sorted(self.live & set(ids))
        for one in gone:
            self.memories[one].archive(now, reason, plan)
        self.changes.add("archived", gone, now)
        return gone

    def restore(self, memory: Noted, now: datetime) -> None:
        memory.restore(now)
        self.changes.add("restored", [memory.id], now)

    # Vitality

    def aging(self, memory: Noted) -> Aging:
        """References from live memories stretch time."""
        referring = min(len(self.links.citing(memory.id, self.live)), self.setting("vitality.stretch_links"))
        stretch = 1 + self.setting("vitality.stretch_per_link") * referring
        return Aging(self.rates(memory.layer), stretch)

    def last_linked(self, memory: Noted) -> datetime | None:
        """When it gained its newest reference from a live memory."""
        return max(self.links.citing(memory.id, self.live).values(), default=None)

    def revival(self, memory: Noted, now: datetime) -> float:
        linked = self.last_linked(memory)
        days = 0.0 if linked is None else max((now - linked).total_seconds(), 0.0) / 86_400
        if linked is None or days >= self.setting("vitality.revival_days"):
            return 0.0
        return math.exp(-self.setting("vitality.revival_rate") * days)

    def boost(self, memory: Noted, now: datetime) -> float:
        """What is left of all that uses of others have passed on, never more than 1."""
        half_life, end = self.setting("vitality.spread_half_life_days"), now.timestamp()
        stored: tuple[float, float | None] = (0.0, None)
        for one in memory.received:
            stored = add_spread(*stored, one.amount, one.at.timestamp(), half_life)
        if stored[1] is None or stored[1] >= end:
            return stored[0]
        return add_spread(*stored, 0.0, end, half_life)[0]

    def whole_accesses(self, memory: Noted) -> list[datetime]:
        """When each was, oldest first."""
        log = without_repeats(memory.log, self.burst)
        return whole((event.at, event.weight) for event in log)[0]

    def terms(self, memory: Noted, now: datetime, youngest: timedelta = MINUTE) -> Terms:
        """The terms of S, with every access at least this old."""
        times = self.whole_accesses(memory)
        return Terms(
            *self.aging(memory).parts(times, now, youngest),
            spread=self.setting("vitality.spread_weight") * self.boost(memory, now),
            revival=self.setting("vitality.revival_weight") * self.revival(memory, now),
        )

    def sum(self, memory: Noted, now: datetime, youngest: timedelta = MINUTE) -> float:
        return self.terms(memory, now, youngest).activation

    def protected(self, memory: Noted) -> bool:
        return memory.cut_size >= self.min_cut

    def retention(self, memory: Noted, now: datetime) -> float:
        vitality = self.terms(memory, now).vitality
        floored = memory.pinned or self.protected(memory)
        return max(vitality, self.setting("vitality.protection_floor")) if floored else vitality

    def zone(self, memory: Noted, now: datetime) -> str:
        return self.rates(memory.layer).zone(self.retention(memory, now))

    def may_be_in(self, zone: str, memory: Noted, now: datetime) -> bool:
        """Whether this is its zone, or the one beside it of which the bound is a hair away."""
        rates, retention = self.rates(memory.layer), self.retention(memory, now)
        return zone in {rates.zone(retention * (1 + hair)) for hair in (-1e-9, 0, 1e-9)}

    def see_zones(self, now: datetime) -> None:
        """The job `vitality`: live memories in another zone than it saw last have risen or faded."""
        for memory in self.memories.values():
            zone, before = self.zone(memory, now), memory.zone_seen
            memory.zone_seen = zone
            if before not in (None, zone) and memory.archived is None:
                risen = ZONES.index(zone) < ZONES.index(str(before))
                self.changes.note(Change(now, "risen" if risen else "faded", memory.id, zone=zone))
