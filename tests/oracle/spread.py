"""What a use passes on to linked memories, as docs/explanation/vitality.md tells under Spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

PASSED = 0.6
HOPS = 2
STRONGEST = 16
MAX_RECEIVERS = 32
HALF_LIFE = timedelta(days=7)
WEIGHT = 0.1
"""Of what a memory has received, in S."""

Neighbours = Mapping[int, frozenset[int]]


@dataclass(frozen=True)
class Received:
    """A part of a use of another memory."""

    source: int
    amount: float
    at: datetime


def passed_on(source: int, neighbours: Neighbours) -> dict[int, float]:
    """What each memory gets of one use; all links have the weight 1."""
    received: dict[int, float] = {}
    wave = {source: 1.0}
    for _ in range(HOPS):
        following: dict[int, float] = {}
        for sender, amount in wave.items():
            linked = sorted(neighbours.get(sender, ()))
            for one in linked[:STRONGEST]:
                if one != source and one not in received:
                    share = amount * PASSED / math.sqrt(len(linked))
                    following[one] = max(following.get(one, 0.0), share)
        received |= following
        wave = following
    largest = sorted(received, key=lambda one: (-received[one], one))[:MAX_RECEIVERS]
    return {one: received[one] for one in largest}


def left(parts: Iterable[Received], now: datetime) -> float:
    """What is left of all that was received, added in order of time, never more than 1."""
    stored, since = 0.0, None
    for part in sorted(parts, key=lambda each: each.at):
        if since is not None:
            stored *= float(0.5 ** ((part.at - since) / HALF_LIFE))
        stored, since = min(stored + part.amount, 1.0), part.at
    if since is None:
        return 0.0
    return float(stored * 0.5 ** (max(now - since, timedelta(0)) / HALF_LIFE))
