"""Zones: labels for bands of retention, computed and never stored as truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Zone = Literal["active", "stale", "fading", "archived"]


@dataclass(frozen=True, slots=True)
class ZoneThresholds:
    """Half-open lower bounds: active at or above ``active``, and so on down to archived.

    Raises:
        ValueError: the bounds are not 1 > active > stale > fading > 0.
    """

    active: float = 0.6
    stale: float = 0.3
    fading: float = 0.1

    def __post_init__(self) -> None:
        if not 1 > self.active > self.stale > self.fading > 0:
            raise ValueError(
                f"zone thresholds must fall: 1 > active ({self.active}) > stale ({self.stale}) "
                f"> fading ({self.fading}) > 0"
            )

    def zone(self, retention: float) -> Zone:
        """The zone of a retention in [0, 1]."""
        if retention >= self.active:
            return "active"
        if retention >= self.stale:
            return "stale"
        return "fading" if retention >= self.fading else "archived"


DEFAULT_ZONES = ZoneThresholds()
