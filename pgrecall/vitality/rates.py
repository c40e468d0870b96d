"""How fast each layer forgets: the pair (clock, decay) that a metabolic rate m stands for.

Two readings of m exist. ``clock`` runs the layer's time m times as fast at one decay, so m = 0.1
fades ten times slower for every history. ``exponent`` multiplies the decay itself, as the
formula of the source says; days to a zone then grow as a power, not tenfold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from pgrecall.vitality.link_terms import SEED_REVIVAL_DAYS
from pgrecall.vitality.number_bounds import Bounds, complaints
from pgrecall.vitality.weights import DEFAULT_WEIGHTS, VitalityWeights
from pgrecall.vitality.zones import DEFAULT_ZONES, ZoneThresholds

Reading = Literal["clock", "exponent"]

BASE_DECAY = 0.5
CALIBRATED_DECAY = 0.6
"""The mean of the decays that maximum likelihood fits to the eight access logs, .61, rounded."""


@dataclass(frozen=True, slots=True)
class LayerRates:
    """Rates and zones of one layer; ``clock`` and ``effective_decay`` are what the sum uses.

    Attributes:
        metabolic_rate: m, how much faster than knowledge the layer forgets.
        base_decay: the exponent of a layer whose m is 1.
        birth_weight: as how many accesses creation counts.
        zones: from which retention on a memory of the layer is active, stale, fading.

    Raises:
        ValueError: names every value out of bounds at once.
    """

    metabolic_rate: float = 1.0
    reading: Reading = "clock"
    base_decay: float = BASE_DECAY
    birth_weight: float = 1.0
    zones: ZoneThresholds = DEFAULT_ZONES

    def __post_init__(self) -> None:
        wrong = complaints(
            (
                ("metabolic_rate", self.metabolic_rate, Bounds(0.001, 1000)),
                ("base_decay", self.base_decay, Bounds(0.001, 10)),
                ("effective decay", self.effective_decay, Bounds(0.0001, 10)),
                ("birth_weight", self.birth_weight, Bounds(1, 100)),
            )
        )
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


Preset = Literal["default", "seed", "calibrated"]


@dataclass(frozen=True, slots=True)
class PresetRates:
    """The rates of every layer a preset knows, by name, and the weights that go with them."""

    layers: Mapping[str, LayerRates]
    weights: VitalityWeights = DEFAULT_WEIGHTS


def _layers(
    reading: Reading, entity_birth_weight: float, base_decay: float = BASE_DECAY
) -> Mapping[str, LayerRates]:
    return MappingProxyType(
        {
            "entity": LayerRates(0.1, reading, base_decay, entity_birth_weight),
            "knowledge": LayerRates(1.0, reading, base_decay),
            "episodic": LayerRates(2.0, reading, base_decay),
            "activity": LayerRates(3.0, reading, base_decay),
        }
    )


PRESETS: Mapping[Preset, PresetRates] = MappingProxyType(
    {
        "default": PresetRates(_layers("clock", 2.0)),
        "seed": PresetRates(_layers("exponent", 1.0), VitalityWeights(revival_days=SEED_REVIVAL_DAYS)),
        "calibrated": PresetRates(_layers("clock", 2.0, CALIBRATED_DECAY)),
    }
)
"""``default``: the clock reading at the source's decay. ``seed``: the source to the letter.
``calibrated``: the clock reading at a decay fitted to eight access logs."""
