"""What is used together, in the model: how many sessions two memories share, each halving with time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.model.noted import Noted
from tests.model.parameters import USES

Count = tuple[float, datetime]
Pair = tuple[int, int]
Memories = Mapping[int, Noted]


def brought(count: Count, at: datetime, half_life: float) -> float:
    """What is left of a count at a later moment."""
    days = max((at - count[1]).total_seconds(), 0) / 86_400
    return float(count[0] * 2 ** -(days / half_life))


def added(one: Count | None, two: Count, half_life: float) -> Count:
    """Two counts as one, at the later of their moments."""
    if one is None:
        return two
    latest = max(one[1], two[1])
    return brought(one, latest, half_life) + brought(two, latest, half_life), latest


@dataclass
class Associations:
    """Of one tenant: the sessions that pairs shared, and those in which each memory was used."""

    pairs: dict[Pair, Count] = field(default_factory=dict)
    sessions: dict[int, Count] = field(default_factory=dict)

    def tell(
        self, memories: Memories, first: Mapping[tuple[int, str], datetime], window: float, half_life: float
    ) -> None:
        """Counts the first uses of memories in a session that one call told: (memory, session) to when."""
        for (memory, _), at in sorted(first.items(), key=lambda entry: entry[1]):
            self.sessions[memory] = added(self.sessions.get(memory), (1.0, at), half_life)
        shared: dict[tuple[Pair, str], datetime] = {}
        for (memory, session), at in first.items():
            for other in _used_beside(memories, memory, session, at, window):
                pair = (min(memory, other), max(memory, other))
                shared[pair, session] = max(at, shared.get((pair, session), at))
        for pair in {pair for pair, _ in shared}:
            moments = [at for (known, _), at in shared.items() if known == pair]
            together = (0.0, max(moments))
            for at in moments:
                together = added(together, (1.0, at), half_life)
            weight, latest = added(self.pairs.get(pair), together, half_life)
            self.pairs[pair] = min(weight, 100.0), latest

    def forget(self, memory: int) -> None:
        self.pairs = {pair: count for pair, count in self.pairs.items() if memory not in pair}
        self.sessions.pop(memory, None)

    def of(self, memory: int, now: datetime, half_life: float) -> dict[int, tuple[float, float]]:
        """What is used with a memory: shared sessions by now, and their share of its own and one more."""
        found = {}
        for pair, count in self.pairs.items():
            if memory in pair:
                [other] = set(pair) - {memory}
                own = brought(self.sessions[memory], now, half_life)
                together = brought(count, now, half_life)
                found[other] = together, together / (own + 1)
        return found


def first_uses(
    memories: Memories, told: Sequence[Mapping[str, Any]], weightless: Collection[str]
) -> dict[tuple[int, str], datetime]:
    """The uses of a call, not logged yet, that are their memory's first in a session."""
    first: dict[tuple[int, str], datetime] = {}
    for use in told:
        memory, session, at = use["memory_id"], use["session_id"], use["at"]
        if session is None or use["kind"] not in USES or use["kind"] in weightless:
            continue
        if not _uses(memories[memory], session):
            first[memory, session] = min(at, first.get((memory, session), at))
    return first


def _uses(memory: Noted, session: str) -> list[datetime]:
    return [each.at for each in memory.log
            if each.session == session and each.kind in USES and each.weight > 0]  # fmt: skip


def _used_beside(memories: Memories, memory: int, session: str, at: datetime, window: float) -> list[int]:
    apart = {
        other.id: min(abs(used - at) for used in times)
        for other in memories.values()
        if other.id != memory and (times := _uses(other, session))
    }
    near = [other for other, distance in apart.items() if distance <= timedelta(minutes=window)]
    return sorted(near, key=lambda other: (apart[other], other < memory, other))[:8]
