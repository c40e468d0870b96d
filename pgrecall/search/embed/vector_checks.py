"""Checks of the vectors that an embedder returns: count, dimensions, finite values, unit length."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pgrecall.errors import EmbedderError

_UNIT = 1e-14
"""Tolerance for the length of a vector that was normalized in double precision."""


def check_vectors(
    vectors: Sequence[Sequence[float]], count: int, dimensions: int, name: str
) -> list[list[float]]:
    """Checks the vectors of the embedder ``name`` and returns them at unit length.

    Raises:
        EmbedderError: the count or a length differs, a value is not a finite number, or a vector
            is zero and so has no direction.
    """
    if len(vectors) != count:
        raise EmbedderError(
            f"The embedder {name} returned {len(vectors)} vectors for {count} texts.",
            hint="Check that it embeds lists of texts, or set PGRECALL_EMBEDDER_BATCH to 1.",
        )
    return [_unit(vector, dimensions, name) for vector in vectors]


def _unit(vector: Sequence[float], dimensions: int, name: str) -> list[float]:
    if len(vector) != dimensions:
        raise EmbedderError(
            f"The embedder {name} returned a vector of {len(vector)} dimensions instead of {dimensions}.",
            hint="Correct PGRECALL_EMBEDDER_DIMENSIONS, or use the model that this database was made for.",
        )
    length = _length(vector)
    if not math.isfinite(length):
        raise EmbedderError(
            f"The embedder {name} returned a vector whose values are not all finite numbers.",
            hint="Run the model in full precision, or choose another.",
        )
    if length < 1e-12:
        raise EmbedderError(
            f"The embedder {name} returned a zero vector, which has no direction.",
            hint="Check that the text is not blank and that the model is an embedding model.",
        )
    # Dividing a unit vector again would change its last digits.
    return list(vector) if abs(length - 1.0) < _UNIT else [value / length for value in vector]


def _length(vector: Sequence[float]) -> float:
    """NaN or infinite if any value is, or is not a number."""
    if not {type(value) for value in vector} <= {float, int}:  # a bool is an int to math.hypot
        return math.nan
    try:
        return math.hypot(*vector)
    except OverflowError:  # an int too long for a float
        return math.inf
