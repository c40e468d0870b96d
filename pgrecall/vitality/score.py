"""From a summary and its surroundings to activation, vitality and retention, term by term."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pgrecall.vitality.activation import MIN_AGE_DAYS
from pgrecall.vitality.link_terms import revival, spread_now, stretch
from pgrecall.vitality.rates import LayerRates
from pgrecall.vitality.summary import SECONDS_PER_DAY, AccessSummary
from pgrecall.vitality.weights import DEFAULT_WEIGHTS, VitalityWeights


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

    def retention(self, *, protected: bool, weights: VitalityWeights = DEFAULT_WEIGHTS) -> float:
        """Vitality with the protection floor applied; for zones and pruning, never for ranking."""
        return max(self.vitality, weights.protection_floor) if protected else self.vitality


def activation_terms(
    summary: AccessSummary,
    rates: LayerRates,
    now: float,
    *,
    in_degree: int = 0,
    spread: float = 0.0,
    spread_at: float | None = None,
    last_linked_at: float | None = None,
    weights: VitalityWeights = DEFAULT_WEIGHTS,
) -> ActivationTerms:
    """Every term of S at ``now``.

    Args:
        now: epoch seconds, as are the other times; a time after it counts as this moment.
        in_degree: how many live memories refer to this one.
        spread: the spreading boost stored at ``spread_at``; without a time it counts nothing.
        last_linked_at: when the memory gained its newest link.
    """
    clock = rates.clock / stretch(in_degree, weights)
    total = summary.power_sum(now, rates.effective_decay, clock)
    recent = math.fsum(
        (clock * max((now - time) / SECONDS_PER_DAY, MIN_AGE_DAYS)) ** -rates.effective_decay
        for time in summary.recent
    )
    boost = 0.0
    if spread_at is not None:
        boost = spread_now(spread, (now - spread_at) / SECONDS_PER_DAY, weights)
    link = 0.0
    if last_linked_at is not None:
        link = revival((now - last_linked_at) / SECONDS_PER_DAY, weights)
    return ActivationTerms(
        recent=recent,
        tail=max(total - recent, 0.0),
        spread=weights.spread_weight * boost,
        revival=weights.revival_weight * link,
    )
