"""Every constant of S in one value, so that a caller can tune them and both languages mean the same ones.

The fields are those of the SQL type ``recall.weights``, in its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from pgrecall.vitality.number_bounds import Bounds, complaints

WEIGHT_BOUNDS: Mapping[str, Bounds] = MappingProxyType(
    {
        "spread_weight": Bounds(0, 10),
        "spread_half_life_days": Bounds(0.01, 3650),
        "revival_weight": Bounds(0, 100),
        "revival_rate": Bounds(0, 100, above=True),
        "revival_days": Bounds(0, 3650),
        "stretch_per_link": Bounds(0, 1),
        "stretch_links": Bounds(0, 1000),
        "protection_floor": Bounds(0, 1, below=True),
    }
)


@dataclass(frozen=True, slots=True)
class VitalityWeights:
    """What spreading, revival, references and protection contribute.

    Attributes:
        spread_weight: what a full spreading boost adds to S.
        spread_half_life_days: days in which a spreading boost halves.
        revival_weight: what a link gained this moment adds to S.
        revival_rate: how fast a revival fades, per day (exponential).
        revival_days: after so many days a revival is dropped; the default is ln(100) / 0.2, when less than
            a hundredth of it is left.
        stretch_per_link: how much slower each referring live memory makes a memory age.
        stretch_links: how many of them count at most.
        protection_floor: least retention of a protected or pinned memory.

    Raises:
        ValueError: names every value out of bounds at once.
    """

    spread_weight: float = 0.1
    spread_half_life_days: float = 7.0
    revival_weight: float = 1.0
    revival_rate: float = 0.2
    revival_days: float = 23.02585092994046
    stretch_per_link: float = 0.1
    stretch_links: float = 10.0
    protection_floor: float = 0.5

    def __post_init__(self) -> None:
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        if wrong := complaints((name, value, WEIGHT_BOUNDS[name]) for name, value in given):
            raise ValueError("; ".join(wrong))


DEFAULT_WEIGHTS = VitalityWeights()
