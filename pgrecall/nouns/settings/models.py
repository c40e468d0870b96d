"""Settings and languages of a tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that can be tuned: its value, where that is set, its default and inclusive bounds."""

    name: str
    value: float
    source: Literal["tenant", "database", "default"]
    default: float
    low: float
    high: float
    about: str


@dataclass(frozen=True, slots=True)
class Languages:
    """The language of a tenant's memories and queries, the available languages, and whether accents are
    ignored in words and names."""

    language: str
    available: tuple[str, ...]
    accents_off: bool
