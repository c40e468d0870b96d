"""Judged queries, models of relevance, and the result of fitting them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pgrecall.nouns.search.models import SearchRequest

FEATURES = (
    "similarity", "token_similarity", "coverage", "information", "name", "author", "cue", "period",
    "session_coverage", "question", "speaker", "no_number", "graph",
)  # fmt: skip
"""The features of relevance, as in explanations; each has a coefficient of its name."""

CONSTANTS = {"similarity": "no_similarity", "token_similarity": "no_token_similarity"}
"""Coefficients that replace a feature that a candidate lacks, by feature."""

Fitted = Literal["relevance", "rerank"]
"""What is fitted: the relevance of a profile, or the conversion of a reranker's score."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a memory, by id or key, answers a query; the key of a note also stands for its sections.

    ``propensity`` is the probability that the memory was shown and judged, above 0 and at most 1. The weight
    of a judgement is its inverse.
    """

    memory: int | str
    relevant: bool
    propensity: float = 1.0


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query with its filters, and its judged memories.

    With ``complete``, candidates that are not in ``judgements`` are not relevant; otherwise they are left
    out.
    """

    question: SearchRequest
    judgements: tuple[Judgement, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """Coefficients of a profile: log-odds per unit of each feature, ``intercept`` and the constants.

    ``embedder`` is ``*`` if they apply to any; ``source`` says who set them; one model of a profile is
    ``in_force``. If ``vitality_weight`` and ``vitality_mode`` are None, the settings apply.
    """

    profile: str
    embedder: str
    source: Literal["tenant", "database"]
    in_force: bool
    form: Literal["logistic", "seed", "rrf"]
    coefficients: Mapping[str, float]
    vitality_weight: float | None
    vitality_mode: str | None
    fitted_on: str


@dataclass(frozen=True, slots=True)
class RerankModel:
    """The probability of a reranker's score r: logit(p) = intercept + rerank r + fused logit(p before).

    ``reranker`` is ``*`` for any without a model of its own; ``source`` says who set it; one model of a
    reranker is ``in_force``.
    """

    reranker: str
    source: Literal["tenant", "database"]
    in_force: bool
    coefficients: Mapping[str, float]
    fitted_on: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well probabilities agree with judgements.

    ``log_loss`` is in nats per candidate, ``brier`` the mean squared error, ``ece`` the mean distance between
    predicted and observed in ten bins, ``mrr`` the mean reciprocal rank of the first relevant candidate.
    Lower is better, except for ``mrr``.
    """

    log_loss: float
    brier: float
    ece: float
    mrr: float


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The candidates with a predicted probability in one tenth of 0 to 1.

    ``predicted`` is their mean, ``observed`` the share of relevant ones, ``low`` and ``high`` its 95 % Wilson
    interval; ``count`` is unweighted.
    """

    count: int
    predicted: float
    observed: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of a fit to judged queries.

    ``name`` is that of the profile or the reranker. ``relevant`` counts the relevant ``candidates``,
    ``missed`` the relevant memories that were not candidates, ``left_out`` the queries without words, which
    have no relevance. ``before`` is with the coefficients in force, ``after`` is cross-validated: each query
    is predicted by coefficients fitted without it. ``gain`` is the decrease of the log loss, ``gain_low`` to
    ``gain_high`` its 95 % interval over queries. ``better`` says whether it decreases, ``stored`` whether the
    coefficients were stored.
    """

    fitted: Fitted
    name: str
    queries: int
    candidates: int
    relevant: int
    current: Mapping[str, float]
    coefficients: Mapping[str, float]
    held_at_zero: tuple[str, ...]
    before: Agreement
    after: Agreement
    gain: float
    gain_low: float
    gain_high: float
    reliability_before: tuple[ReliabilityBin, ...]
    reliability_after: tuple[ReliabilityBin, ...]
    missed: int = 0
    left_out: int = 0
    stored: bool = False

    @property
    def better(self) -> bool:
        """Whether the held-out log loss is lower than the current one."""
        return self.gain > 0
