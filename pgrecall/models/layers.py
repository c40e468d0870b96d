"""Layers, settings and languages: how fast what is remembered fades, and what else a tenant can choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pgrecall.vitality.parameters import LayerRates


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer in force for a tenant.

    Attributes:
        rates: how its memories age, and from which retention on they are active, stale, fading;
            ``pgrecall.vitality.days_in_zones`` turns them into days.
        profile: which relevance coefficients it is judged by, where there are several.
        median_base: the median of B over its live memories when last computed; 0 before.
        source: whose row it is: the tenant's own, or the database's.
    """

    name: str
    rates: LayerRates
    profile: str
    median_base: float
    source: Literal["tenant", "database"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that can be tuned: its value in force, whose that is, its default, its bounds (inclusive)."""

    name: str
    value: float
    source: Literal["tenant", "database", "default"]
    default: float
    low: float
    high: float
    about: str


@dataclass(frozen=True, slots=True)
class Languages:
    """The language a tenant's memories and questions are read in, those it could be, by name, and whether
    accents are taken off words and names before they are compared."""

    language: str
    available: tuple[str, ...]
    accents_off: bool
