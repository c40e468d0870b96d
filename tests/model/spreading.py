"""Spreading: what an access passes on to linked memories, and how the stored boost grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

HOP_DAMPING = 0.6
SPREAD_CAP = 1.0
HALF_LIFE_DAYS = 7.0

Neighbours = Callable[[int], Sequence[tuple[int, float]]]
"""From a memory's id to the ids it is linked with, in either direction, and the weights, strongest first."""


def spread_at_hop(utility: float, hops: int, damping: float = HOP_DAMPING) -> float:
    """The share of an access's ``utility`` that reaches ``hops`` full links away where nothing divides it."""
    return float(utility * damping**hops)


def spread_targets(
    source: int,
    neighbours: Neighbours,
    utility: float = 1.0,
    damping: float = HOP_DAMPING,
    hops: int = 2,
    fan_out: int = 16,
    fan_exponent: float = 0.5,
    limit: int = 32,
) -> dict[int, float]:
    """What an access of ``source`` adds to other memories: id to amount, largest first, then by id.

    From each memory at most ``fan_out`` strongest links are followed. Over a link passes
    amount * damping * min(weight, 1) / fan ** fan_exponent, where the fan is the number of all neighbours of
    the memory it leaves. A memory is reached at its least number of hops and receives the largest amount
    of the paths of that length. Only the ``limit`` largest above 0 are kept, and never the source itself.
    """

    def arrivals(senders: Mapping[int, float]) -> Iterator[tuple[int, float]]:
        for sender, amount in senders.items():
            linked = neighbours(sender)
            share = amount * damping / max(len(linked), 1) ** fan_exponent
            for reached, weight in linked[:fan_out]:
                yield reached, share * min(weight, 1.0)

    received: dict[int, float] = {}
    wave = {source: utility}
    for _ in range(hops):
        following: dict[int, float] = {}
        for reached, amount in arrivals(wave):
            if reached != source and reached not in received:
                following[reached] = max(following.get(reached, 0.0), amount)
        received |= following
        wave = following
    positive = (entry for entry in received.items() if entry[1] > 0)
    largest_first = sorted(positive, key=lambda entry: (-entry[1], entry[0]))
    return dict(largest_first[:limit])


def add_spread(
    stored: float,
    stored_at: float | None,
    amount: float,
    at: float,
    half_life: float = HALF_LIFE_DAYS,
) -> tuple[float, float]:
    """The stored boost and its time after ``amount`` more; times in epoch seconds, ``half_life`` in days.

    Both are halved to the later of the two times, so that a late amount arrives as old as it is; the sum is
    capped at 1. Without a ``stored_at`` nothing is stored yet.
    """
    if stored_at is None:
        return min(amount, SPREAD_CAP), at
    later = max(stored_at, at)

    def kept(what: float, since: float) -> float:
        return float(what * 2 ** -((later - since) / 86_400 / half_life))

    return min(kept(min(stored, SPREAD_CAP), stored_at) + kept(amount, at), SPREAD_CAP), later
