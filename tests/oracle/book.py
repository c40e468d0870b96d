"""What the oracle keeps of one tenant, and how each call changes it, as the how-to pages tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from tests.oracle.history import UNSAID, Change, Changes, Past, stored_fields
from tests.oracle.noted import Linked, Noted
from tests.oracle.spread import WEIGHT, Received, left, passed_on
from tests.oracle.vitality import (
    BIRTHS,
    FLOOR,
    MINUTE,
    Aging,
    Event,
    counted,
    summed,
    vitality_of,
    without_repeats,
    zone_of,
)

SPREADING = frozenset({"links_to", "mentions", "implies", "supports", "next", "part_of"})
REFERENCES = frozenset({"links_to", "mentions", "implies", "supports"})
USES = frozenset({"read", "reference", "used"})
APART = frozenset({"next", "contradicts", "supersedes"})
"""Relations between memories that are not the same."""

ZONE_ORDER = ("active", "stale", "fading", "dormant")


@dataclass
class Book:
    """One tenant as the oracle knows it."""

    tenant: str
    memories: dict[int, Noted] = field(default_factory=dict)
    links: list[Linked] = field(default_factory=list)
    keys_used: set[str] = field(default_factory=set)
    searches: dict[int, tuple[str | None, list[int]]] = field(default_factory=dict)
    verdicts: dict[tuple[int, int], str] = field(default_factory=dict)
    credited: set[tuple[int, int]] = field(default_factory=set)
    """Memories that a verdict on a search has recorded as used already."""
    waiting: set[int] = field(default_factory=set)
    """Logged searches that are not folded yet, by their number in this book."""
    unfolded: list[tuple[int, Event]] = field(default_factory=list)
    medians: dict[str, float] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
    kept_apart: set[int] = field(default_factory=set)
    """Memories that were merged, or linked as different: dedupe need not compare them again."""

    # Reading

    def by_key(self, key: str) -> Noted | None:
        return next((each for each in self.memories.values() if each.key == key), None)

    @property
    def live(self) -> list[Noted]:
        return [each for each in self.memories.values() if each.archived is None]

    def aging(self, memory: Noted) -> Aging:
        """References from live memories stretch time."""
        to_it = [link for link in self.links if link.target == memory.id and link.relation in REFERENCES
                 and self.memories[link.source].archived is None]  # fmt: skip
        newest = max((link.at for link in to_it), default=None)
        return Aging(memory.layer, len({link.source for link in to_it}), newest)

    def spread(self, memory: Noted, now: datetime) -> float:
        """What uses of linked memories add to S."""
        return WEIGHT * left(memory.received, now)

    def sum(self, memory: Noted, now: datetime, youngest: timedelta = MINUTE) -> float:
        """S, with every access at least this old."""
        aging = self.aging(memory)
        accesses = summed(counted(memory.log), aging, now, youngest)
        return accesses + self.spread(memory, now) + aging.revival(now)

    def zone(self, memory: Noted, s: float, floored: bool) -> str:
        vitality = vitality_of(s)
        return zone_of(max(vitality, FLOOR) if floored or memory.pinned else vitality)

    # Writing

    def remember(self, draft: dict[str, Any], embedded: bool) -> str:
        """What storing this draft comes to; plain SQL stores no vector, and a new vector is an update."""
        known = self.by_key(draft["key"])
        if known is None:
            return "created"
        same = not self.differs(known, draft)
        if known.archived is not None:
            return "revived"
        return "unchanged" if same and (known.embedded or not embedded) else "updated"

    @staticmethod
    def differs(known: Noted, draft: Mapping[str, Any]) -> bool:
        return stored_fields(draft) != stored_fields(known.draft) or any(
            draft.get(name) != known.draft.get(name) for name in UNSAID
        )

    def stored(
        self, memory_id: int, draft: dict[str, Any], outcome: str, face: str, now: datetime, *, embedded: bool
    ) -> None:
        """Notes a draft that was stored with this outcome."""
        if outcome == "created":
            begin = draft.get("occurred_at") or now
            birth = Event(begin, "write", None, BIRTHS.get(draft["layer"], 1))
            self.memories[memory_id] = Noted(memory_id, draft, now, [birth], Past(now), embedded)
            self.changes.add("new", [memory_id], now)
            return
        memory = self.memories[memory_id]
        rewritten = self.rewrite(memory, draft, face, now)
        memory.embedded = embedded or (memory.embedded and not rewritten)
        if outcome == "revived":
            memory.archive(now, gone=False)
            self.changes.add("restored", [memory_id], now)
        if outcome == "revived" or rewritten:
            memory.log.append(Event(now, "write"))

    def rewrite(self, memory: Noted, draft: dict[str, Any], face: str, now: datetime) -> bool:
        """Keeps what it said and notes the change, if there is one. Returns whether it has another text."""
        rewritten = any(draft.get(name) != memory.draft.get(name) for name in ("title", "body"))
        if self.differs(memory, draft):
            self.changes.add("rewritten", [memory.id], now)
        if stored_fields(draft) != stored_fields(memory.draft):
            memory.past.replace(memory.draft, now, face)
        memory.draft = draft
        return rewritten

    def edit(
        self, memory_id: int, fields: Mapping[str, Any], face: str, now: datetime, *, embeds: bool
    ) -> str:
        """Changes fields; a new text is a write, and plain SQL gives it no vector."""
        memory = self.memories[memory_id]
        draft = {**memory.draft, **fields}
        if not self.differs(memory, draft):
            return "unchanged"
        if self.rewrite(memory, draft, face, now):
            memory.embedded = embeds
            memory.log.append(Event(now, "write"))
        return "updated"

    def record(self, items: Iterable[Mapping[str, Any]]) -> int:
        """Records accesses; those with a known key are ignored. Returns how many are new."""
        new = 0
        for item in sorted(items, key=lambda each: each["at"]):
            key = item.get("idempotency_key")
            if key is not None and key in self.keys_used:
                continue
            if key is not None:
                self.keys_used.add(key)
            event = Event(item["at"], item["kind"], item.get("session_id"))
            self._use(self.memories[item["memory_id"]], event)
            new += 1
        return new

    def _use(self, memory: Noted, event: Event) -> None:
        """Notes an access; a use that repeats none passes on a part of it."""
        repeats = event not in without_repeats([*memory.log, event])
        memory.log.append(event)
        if event.kind not in USES or repeats:
            return
        for one, amount in passed_on(memory.id, self.neighbours(event.at)).items():
            self.memories[one].received.append(Received(memory.id, amount, event.at))

    def neighbours(self, at: datetime) -> dict[int, frozenset[int]]:
        """Live memories that were linked by then, in either direction."""
        found: dict[int, set[int]] = {}
        for link in self.links:
            if link.relation in SPREADING and link.at <= at:
                for one, other in ((link.source, link.target), (link.target, link.source)):
                    if self.memories[other].archived is None:
                        found.setdefault(one, set()).add(other)
        return {one: frozenset(others) for one, others in found.items()}

    def link_between(self, source: int, target: int, relation: str) -> Linked | None:
        wanted = (source, target, relation)
        return next(
            (each for each in self.links if (each.source, each.target, each.relation) == wanted), None
        )

    def link(self, source: int, target: int, relation: str, now: datetime) -> bool:
        """Whether it is new; what a merge had copied is somebody's own from now on."""
        known = self.link_between(source, target, relation)
        if relation in APART:
            self.kept_apart |= {source, target}
        if known is None:
            self.links.append(Linked(source, target, relation, now))
            return True
        self.links[self.links.index(known)] = replace(known, merged_from=None)
        return False

    def successors(self, memory_id: int) -> list[int]:
        chain = []
        following = self.memories[memory_id].superseded_by
        while following is not None:
            chain.append(following)
            following = self.memories[following].superseded_by
        return chain

    def supersede(self, old: int, new: int, now: datetime) -> bool:
        memory = self.memories[old]
        if memory.superseded_by == new:
            self.link(new, old, "supersedes", now)
            return False
        memory.superseded_by, memory.superseded_at = new, now
        self.link(new, old, "supersedes", now)
        self.changes.add("superseded", [old], now, new)
        return True

    def forget(self, memory_id: int, hard: bool, now: datetime) -> bool:
        memory = self.memories[memory_id]
        if not hard:
            changed = memory.archived is None
            if changed:
                memory.archive(now, gone=True)
                self.changes.add("archived", [memory_id], now)
            return changed
        self.changes.delete(memory_id, now)
        del self.memories[memory_id]
        self.links = [
            replace(link, merged_from=None) if link.merged_from == memory_id else link
            for link in self.links
            if memory_id not in (link.source, link.target)
        ]
        self.unfolded = [(one, event) for one, event in self.unfolded if one != memory_id]
        self.verdicts = {pair: said for pair, said in self.verdicts.items() if pair[1] != memory_id}
        for _, shown in self.searches.values():
            if memory_id in shown:
                shown.remove(memory_id)
        for other in self.memories.values():
            other.log = [event for event in other.log if event.merged_from != memory_id]
            other.received = [part for part in other.received if part.source != memory_id]
            if other.superseded_by == memory_id:
                other.superseded_by = other.superseded_at = None
                if other.archived is None:
                    self.changes.add("restored", [other.id], now)
        return True

    def shown(self, search: int | None, session: str | None, ids: list[int], at: datetime) -> None:
        """Notes a logged search; what it showed counts once it is folded."""
        if search is not None:
            self.searches[search] = (session, list(ids))
        self.unfolded += [(one, Event(at, "retrieval", session)) for one in ids]

    def fold(self) -> None:
        for memory_id, event in self.unfolded:
            self.memories[memory_id].log.append(event)
        self.unfolded.clear()

    def judge(self, search: int, ids: Iterable[int], verdict: str, now: datetime) -> int:
        """A verdict on what a search showed; `used` is an access as well, once."""
        new = 0
        for one in ids:
            pair = (search, one)
            new += self.verdicts.get(pair) != verdict
            self.verdicts[pair] = verdict
            if verdict == "used" and pair not in self.credited:
                self.credited.add(pair)
                self._use(self.memories[one], Event(now, "used", self.searches[search][0]))
        return new

    def expire(self, now: datetime) -> int:
        gone = [each for each in self.live if (end := each.draft.get("expires_at")) and end <= now]
        for each in gone:
            each.archive(now, gone=True)
        self.changes.add("archived", [each.id for each in gone], now)
        return len(gone)

    def see_zones(self, now: datetime) -> None:
        """The job `vitality`: live memories in another zone than it saw last have risen or faded."""
        for memory in self.memories.values():
            zone, before = self.zone(memory, self.sum(memory, now), floored=False), memory.zone_seen
            memory.zone_seen = zone
            if before not in (None, zone) and memory.archived is None:
                risen = ZONE_ORDER.index(zone) < ZONE_ORDER.index(str(before))
                self.changes.note(Change(now, "risen" if risen else "faded", memory.id, zone=zone))
