"""The documented rates of layers and settings, which a tenant may change."""

from __future__ import annotations

from dataclasses import dataclass

SPREADING = frozenset({"links_to", "mentions", "implies", "supports", "next", "part_of"})
REFERENCES = frozenset({"links_to", "mentions", "implies", "supports"})
USES = frozenset({"read", "reference", "used"})

ZONES = ("active", "stale", "fading", "dormant")

SETTINGS = {
    "access.burst_minutes": 10.0, "access.weight_read": 1.0, "access.weight_reference": 1.0,
    "access.weight_retrieval": 0.1, "access.weight_used": 1.0, "access.weight_write": 1.0,
    "association.half_life_days": 180.0, "association.window_minutes": 60.0, "graph.min_cut": 3.0,
    "prune.grace_days": 30.0, "prune.revival_days": 14.0, "spread.damping": 0.6, "spread.fan_exponent": 0.5,
    "vitality.spread_weight": 0.1, "vitality.spread_half_life_days": 7.0, "vitality.revival_weight": 1.0,
    "vitality.revival_rate": 0.2, "vitality.revival_days": 23.02585093, "vitality.stretch_per_link": 0.1,
    "vitality.stretch_links": 10.0, "vitality.protection_floor": 0.5,
}  # fmt: skip


@dataclass(frozen=True)
class Rates:
    """How a layer ages, what a birth counts there, and from which retention on it is in each zone."""

    rate: float
    reading: str = "clock"
    decay: float = 0.5
    birth: float = 1.0
    zones: tuple[float, float, float] = (0.6, 0.3, 0.1)

    @property
    def aging(self) -> tuple[float, float]:
        """The clock and the exponent: the rate multiplies one of them."""
        return (self.rate, self.decay) if self.reading == "clock" else (1.0, self.decay * self.rate)

    def zone(self, retention: float) -> str:
        return ZONES[sum(retention < least for least in self.zones)]


def _preset(reading: str, birth: float, decay: float) -> dict[str, Rates]:
    rates = {"entity": 0.1, "knowledge": 1.0, "episodic": 2.0, "activity": 3.0}
    return {layer: Rates(rate, reading, decay, birth if layer == "entity" else 1.0)
            for layer, rate in rates.items()}  # fmt: skip


PRESETS = {
    "default": _preset("clock", 2.0, 0.5),
    "seed": _preset("exponent", 1.0, 0.5),
    "calibrated": _preset("clock", 2.0, 0.6),
}
REVIVAL_DAYS = {"default": 23.02585093, "seed": 14.0, "calibrated": 23.02585093}
"""After so many days a new reference revives nothing: a setting that a preset brings."""
