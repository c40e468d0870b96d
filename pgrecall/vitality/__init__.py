"""ACT-R vitality as pure mathematics: ages in, activation and vitality out.

Ages are in days, times in seconds since 1970-01-01 UTC, and ``now`` is always an argument.
Nothing here reads a clock, a database or the environment.
"""

from pgrecall.vitality.activation import (
    MIN_AGE_DAYS,
    optimized_base_level,
    power_sum,
    power_sum_hybrid,
    tail_mean,
)
from pgrecall.vitality.rates import PRESETS, LayerRates, Preset
from pgrecall.vitality.score import ActivationTerms, activation_terms, vitality_of
from pgrecall.vitality.structure import revival, spread_at_hop, spread_now, stretch
from pgrecall.vitality.summary import RECENT, AccessSummary
from pgrecall.vitality.zones import DEFAULT_ZONES, ZoneThresholds

__all__ = [
    "DEFAULT_ZONES",
    "MIN_AGE_DAYS",
    "PRESETS",
    "RECENT",
    "AccessSummary",
    "ActivationTerms",
    "LayerRates",
    "Preset",
    "ZoneThresholds",
    "activation_terms",
    "optimized_base_level",
    "power_sum",
    "power_sum_hybrid",
    "revival",
    "spread_at_hop",
    "spread_now",
    "stretch",
    "tail_mean",
    "vitality_of",
]
