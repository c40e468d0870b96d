"""The parameters of vitality: weights of its terms, rates and zones of each layer, and the presets.

A layer's metabolic rate m stands for a pair (clock, decay), and m has two readings. ``clock`` runs the
layer's time m times as fast with the same decay, so with m = 0.1 every memory fades ten times slower.
``exponent`` multiplies the decay itself, as the formula of the source says; the days to a zone then grow as a
power, not tenfold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

Reading = Literal["clock", "exponent"]
Zone = Literal["active", "stale", "fading", "dormant"]

BASE_DECAY = 0.5
CALIBRATED_DECAY = 0.6
"""The mean of the decays that maximum likelihood fits to the eight access logs, .61, rounded."""
SEED_REVIVAL_DAYS = 14.0
"""Where the source cuts a revival off, at 0.06; the preset ``seed`` follows it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval of numbers; ``above`` and ``below`` exclude its low and its high end.

    >>> 1.0 in Bounds(0, 1, below=True)
    False
    """

    low: float
    high: float
    above: bool = False
    below: bool = False

    def __contains__(self, value: float) -> bool:
        """Whether it lies inside; nan and the infinities never do."""
        past_low = self.low < value if self.above else self.low <= value
        before_high = value < self.high if self.below else value <= self.high
        return past_low and before_high

    def __str__(self) -> str:
        return f"{'(' if self.above else '['}{self.low}, {self.high}{')' if self.below else ']'}"


def bounds_errors(values: Iterable[tuple[str, float, Bounds]]) -> list[str]:
    """One message for each (name, value, bounds) with a value outside its bounds, in the given order."""
    return [f"{name} is {value}, not in {bounds}" for name, value, bounds in values if value not in bounds]


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
    """The weights of spreading, revival, references and protection.

    The fields are those of the SQL type ``recall.weights``, in its order.

    Attributes:
        spread_weight: amount that a full spreading boost adds to S.
        spread_half_life_days: days in which a spreading boost halves.
        revival_weight: amount that a link gained just now adds to S.
        revival_rate: exponential decay of a revival, per day.
        revival_days: after so many days a revival is dropped; the default is ln(100) / 0.2, when less than
            a hundredth of it is left.
        stretch_per_link: by how much each referring live memory slows the aging of a memory.
        stretch_links: maximum number of them that count.
        protection_floor: lowest retention of a protected or pinned memory.

    Raises:
        ValueError: names all values out of bounds.
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
        if wrong := bounds_errors((name, value, WEIGHT_BOUNDS[name]) for name, value in given):
            raise ValueError("; ".join(wrong))


DEFAULT_WEIGHTS = VitalityWeights()


@dataclass(frozen=True, slots=True)
class ZoneThresholds:
    """Half-open lower bounds: active at or above ``active``, and so on down to dormant.

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
        return "fading" if retention >= self.fading else "dormant"


DEFAULT_ZONES = ZoneThresholds()


class Rates(Protocol):
    """What the sum needs to know of a layer."""

    @property
    def clock(self) -> float:
        """How many days pass in the layer while one day passes outside."""

    @property
    def effective_decay(self) -> float:
        """The exponent of the decayed sum."""


class StoredRates(NamedTuple):
    """The rates that are stored with a memory, which are those of its layer."""

    clock: float
    effective_decay: float


@dataclass(frozen=True, slots=True)
class LayerRates:
    """Rates and zones of one layer; ``clock`` and ``effective_decay`` are what the sum uses.

    Attributes:
        metabolic_rate: m, how much faster than knowledge the layer forgets.
        base_decay: the exponent of a layer with m = 1.
        birth_weight: number of accesses that creation counts as.
        zones: lowest retention at which a memory of the layer is active, stale or fading.

    Raises:
        ValueError: names all values out of bounds.
    """

    metabolic_rate: float = 1.0
    reading: Reading = "clock"
    base_decay: float = BASE_DECAY
    birth_weight: float = 1.0
    zones: ZoneThresholds = DEFAULT_ZONES

    def __post_init__(self) -> None:
        wrong = bounds_errors(
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
    """The rates of every layer in a preset, by name, and the weights of the preset."""

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
"""``default``: the clock reading with the decay of the source. ``seed``: exactly the source. ``calibrated``:
the clock reading with a decay fitted to eight access logs."""
