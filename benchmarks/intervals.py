"""Bootstrap confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

RESAMPLES = 2000


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % percentile interval of the mean, from resamples with replacement."""
    data = np.asarray(values)
    drawn = np.random.default_rng(1).integers(0, len(data), size=(RESAMPLES, len(data)))
    return percentile_interval(data[drawn].mean(axis=1))


def percentile_interval(means: Floats) -> tuple[float, float]:
    """The middle 95 % of resampled means."""
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
