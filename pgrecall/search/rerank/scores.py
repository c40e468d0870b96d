"""The input and output of rerankers: candidates, and scores on the logit scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Literal, assert_never

from pgrecall.errors import RerankerError

Scale = Literal["logit", "probability"]
"""The scale of a model's output. It must be declared, because it cannot be inferred: all logits of a batch
may lie between 0 and 1, and a second sigmoid would squeeze probabilities into 0.50 to 0.73."""

EPSILON = 1e-6
"""Probabilities are clipped to this distance from 0 and 1, which limits logits to 13.9."""

MAX_SCORE = 1e9
"""Limit of logits: with weights of a calibration, larger ones could become infinite, which no JSON has."""

_MORE = 1_000
"""Scores that are read beyond those asked for, to say how many there are; there may be no end."""


@dataclass(frozen=True, slots=True)
class RerankCandidate:
    """A memory to judge; ``text`` is the part that the reranker reads."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class RerankScore:
    """``score`` is a logit. Ranks begin at 1; the original one is the place among the candidates."""

    id: int
    score: float
    original_rank: int
    new_rank: int


@dataclass(frozen=True, slots=True)
class RerankOutcome:
    """The candidates that were read, best first.

    ``complete``: all candidates were read; otherwise ``reason`` is a sentence with the cause.
    """

    scores: tuple[RerankScore, ...] = ()
    complete: bool = True
    reason: str | None = None


def as_logits(values: object, count: int, scale: Scale, name: str) -> list[float]:
    """Converts the output of the reranker ``name`` for ``count`` texts to the logit scale.

    Raises:
        RerankerError: the count differs, a value is not a finite number, or one declared a
            probability lies outside 0 to 1.
    """
    if not isinstance(values, Iterable):
        raise RerankerError(
            f"The reranker {name} returned {type(values).__name__} instead of a list of numbers.",
            hint="Return one score for each text, in their order.",
        )
    scores = [_finite(value, name) for value in islice(values, count + _MORE)]
    if len(scores) != count:
        raise RerankerError(
            f"The reranker {name} returned {len(scores)} scores for {count} texts.",
            hint="Return one score for each text, in their order.",
        )
    match scale:
        case "logit":
            return [min(max(score, -MAX_SCORE), MAX_SCORE) for score in scores]
        case "probability":
            return [_logit(score, name) for score in scores]
    assert_never(scale)


def rank_by_logit(
    candidates: Sequence[RerankCandidate], logits: Mapping[int, float], top_n: int
) -> tuple[RerankScore, ...]:
    """Returns the ``top_n`` best candidates with a logit, best first. Candidates with equal logits keep their
    order."""
    places = sorted(logits, key=lambda place: (-logits[place], place))[:top_n]
    return tuple(
        RerankScore(candidates[place].id, logits[place], original_rank=place + 1, new_rank=rank)
        for rank, place in enumerate(places, start=1)
    )


def _finite(value: object, name: str) -> float:
    yes_or_no = type(value) is bool  # a bool is a Real
    number = _number(value) if isinstance(value, Real) and not yes_or_no else math.nan
    if not math.isfinite(number):
        raise RerankerError(
            f"The reranker {name} returned a score that is not a finite number.",
            hint="Run the model in full precision, or choose another.",
        )
    return number


def _number(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:  # an int too long for a float
        return math.inf


def _logit(probability: float, name: str) -> float:
    if not 0.0 <= probability <= 1.0:
        raise RerankerError(
            f"The reranker {name} is declared to return probabilities, and returned {probability:.6g}.",
            hint="Set PGRECALL_RERANKER_SCALE to logit.",
        )
    bounded = min(max(probability, EPSILON), 1.0 - EPSILON)
    return math.log(bounded / (1.0 - bounded))
