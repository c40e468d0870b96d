"""Layers of a tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pgrecall.vitality.parameters import LayerRates


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer in force for a tenant.

    Attributes:
        rates: how its memories age, and the retention at which each zone begins;
            ``pgrecall.vitality.score.days_in_zones`` converts them to days.
        profile: profile of searches that are limited to this layer.
        median_base: median of B over its live memories when last computed, every access at least an hour old;
            until then, the B of a memory stored 100 days ago and never used.
        source: whether the tenant or the database defines it.
    """

    name: str
    rates: LayerRates
    profile: str
    median_base: float
    source: Literal["tenant", "database"]
