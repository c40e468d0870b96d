"""ACT-R vitality as pure mathematics: ages in, activation and vitality out.

Ages are in days, times in seconds since 1970-01-01 UTC, and ``now`` is always an argument.
Nothing here reads a clock, a database or the environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.later import found_later

if TYPE_CHECKING:
    from pgrecall.vitality.activation import (
        MIN_AGE_DAYS,
        optimized_base_level,
        power_sum,
        power_sum_hybrid,
        tail_mean,
    )
    from pgrecall.vitality.horizon import ONE_ACCESS, TEN_DAILY, ZoneHorizon, days_in_zones
    from pgrecall.vitality.log import BURST_SECONDS, FoldedLog, LoggedAccess, counted, fold
    from pgrecall.vitality.rates import PRESETS, LayerRates, Preset, PresetRates
    from pgrecall.vitality.score import ActivationTerms, activation_terms, vitality_of
    from pgrecall.vitality.spreading import add_spread, spread_at_hop, spread_targets
    from pgrecall.vitality.structure import revival, spread_now, stretch
    from pgrecall.vitality.summary import RECENT, AccessSummary
    from pgrecall.vitality.weights import DEFAULT_WEIGHTS, VitalityWeights
    from pgrecall.vitality.zones import DEFAULT_ZONES, ZoneThresholds

__all__ = [
    "BURST_SECONDS",
    "DEFAULT_WEIGHTS",
    "DEFAULT_ZONES",
    "MIN_AGE_DAYS",
    "ONE_ACCESS",
    "PRESETS",
    "RECENT",
    "TEN_DAILY",
    "AccessSummary",
    "ActivationTerms",
    "FoldedLog",
    "LayerRates",
    "LoggedAccess",
    "Preset",
    "PresetRates",
    "VitalityWeights",
    "ZoneHorizon",
    "ZoneThresholds",
    "activation_terms",
    "add_spread",
    "counted",
    "days_in_zones",
    "fold",
    "optimized_base_level",
    "power_sum",
    "power_sum_hybrid",
    "revival",
    "spread_at_hop",
    "spread_now",
    "spread_targets",
    "stretch",
    "tail_mean",
    "vitality_of",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = found_later(
        __name__,
        {
            "activation": (
                "MIN_AGE_DAYS",
                "optimized_base_level",
                "power_sum",
                "power_sum_hybrid",
                "tail_mean",
            ),
            "horizon": ("ONE_ACCESS", "TEN_DAILY", "ZoneHorizon", "days_in_zones"),
            "log": ("BURST_SECONDS", "FoldedLog", "LoggedAccess", "counted", "fold"),
            "rates": ("PRESETS", "LayerRates", "Preset", "PresetRates"),
            "score": ("ActivationTerms", "activation_terms", "vitality_of"),
            "spreading": ("add_spread", "spread_at_hop", "spread_targets"),
            "structure": ("revival", "spread_now", "stretch"),
            "summary": ("RECENT", "AccessSummary"),
            "weights": ("DEFAULT_WEIGHTS", "VitalityWeights"),
            "zones": ("DEFAULT_ZONES", "ZoneThresholds"),
        },
    )
