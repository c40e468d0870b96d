"""From a summary and its surroundings to activation, vitality and retention, term by term."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pgrecall.vitality.activation import MIN_AGE_DAYS
from pgrecall.vitality.rates import LayerRates
from pgrecall.vitality.structure import revival, spread_now, stretch
from pgrecall.vitality.summary import SECONDS_PER_DAY, AccessSummary

SPREAD_WEIGHT = 0.1
REVIVAL_WEIGHT = 1.0
PROTECTION_FLOOR = 0.5


def vitality_of(activation: float) -> float:
    """S / (1 + S): the logistic function of ln S, without logarithm or exponential."""
    return activation / (1 + activation) if math.isfinite(activation) else 1.0


@dataclass(frozen=True, slots=True)
class ActivationTerms:
    """The weighted terms of S at one moment; each is at least 0."""

    recent: float
    tail: float
    spread: float
    revival: float

    @property
    def activation(self) -> float:
        return self.recent + self.tail + self.spread + self.revival

    @property
    def base(self) -> float:
        """B = ln S, ACT-R's base-level activation."""
        return math.log(self.activation)

    @property
    def vitality(self) -> float:
        return vitality_of(self.activation)

    def retention(self, *, protected: bool) -> float:
        """Vitality with the protection floor applied; for zones and pruning, never for ranking."""
        return max(self.vitality, PROTECTION_FLOOR) if protected else self.vitality


def activation_terms(
    summary: AccessSummary,
    rates: LayerRates,
    now: float,
    *,
    in_degree: int = 0,
    spread: float = 0.0,
    spread_at: float | None = None,
    last_linked_at: float | None = None,
) -> ActivationTerms:
    """Every term of S at ``now`` (epoch seconds), as DESIGN section 3 combines them."""
    clock = rates.clock / stretch(in_degree)
    total = summary.power_sum(now, rates.effective_decay, clock)
    recent = math.fsum(
        (clock * max((now - time) / SECONDS_PER_DAY, MIN_AGE_DAYS)) ** -rates.effective_decay
        for time in summary.recent
    )
    boost = spread_now(spread, (now - spread_at) / SECONDS_PER_DAY) if spread_at is not None else 0.0
    link = revival((now - last_linked_at) / SECONDS_PER_DAY) if last_linked_at is not None else 0.0
    return ActivationTerms(
        recent=recent,
        tail=max(total - recent, 0.0),
        spread=SPREAD_WEIGHT * boost,
        revival=REVIVAL_WEIGHT * link,
    )
