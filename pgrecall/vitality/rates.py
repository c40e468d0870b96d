"""How fast each layer forgets: the pair (clock, decay) that a metabolic rate m stands for.

Two readings of m exist. ``clock`` runs the layer's time m times as fast at one decay, so m = 0.1
fades ten times slower for every history. ``exponent`` multiplies the decay itself, as the
formula of the source says; days to a zone then grow as a power, not tenfold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Reading = Literal["clock", "exponent"]

BASE_DECAY = 0.5


@dataclass(frozen=True, slots=True)
class LayerRates:
    """Rates of one layer; ``clock`` and ``effective_decay`` are what the sum uses.

    Raises:
        ValueError: names every value out of bounds at once.
    """

    metabolic_rate: float = 1.0
    reading: Reading = "clock"
    base_decay: float = BASE_DECAY
    birth_weight: float = 1.0

    def __post_init__(self) -> None:
        wrong = [
            f"{name} is {value}, not in {bounds}"
            for name, value, low, high, bounds in (
                ("metabolic_rate", self.metabolic_rate, 0.001, 1000, "[0.001, 1000]"),
                ("base_decay", self.base_decay, 0.001, 10, "[0.001, 10]"),
                ("effective decay", self.effective_decay, 0.0001, 10, "[0.0001, 10]"),
                ("birth_weight", self.birth_weight, 1, 100, "[1, 100]"),
            )
            if not (math.isfinite(value) and low <= value <= high)
        ]
        if self.reading not in ("clock", "exponent"):
            wrong.append(f"reading is {self.reading!r}, not 'clock' or 'exponent'")
        if wrong:
            raise ValueError("; ".join(wrong))

    @property
    def clock(self) -> float:
        """c: how many days pass in this layer while one day passes outside."""
        return self.metabolic_rate if self.reading == "clock" else 1.0

    @property
    def effective_decay(self) -> float:
        """d: the exponent of the decayed sum."""
        return self.base_decay if self.reading == "clock" else self.base_decay * self.metabolic_rate


Preset = Literal["default", "seed"]


def _layers(reading: Reading, entity_birth_weight: float) -> Mapping[str, LayerRates]:
    return MappingProxyType(
        {
            "entity": LayerRates(0.1, reading, birth_weight=entity_birth_weight),
            "knowledge": LayerRates(1.0, reading),
            "episodic": LayerRates(2.0, reading),
            "activity": LayerRates(3.0, reading),
        }
    )


PRESETS: Mapping[Preset, Mapping[str, LayerRates]] = MappingProxyType(
    {"default": _layers("clock", 2.0), "seed": _layers("exponent", 1.0)}
)
"""``default``: measured on eight access logs (docs/decisions). ``seed``: the source to the letter."""
