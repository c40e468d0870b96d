"""Judged queries, and what fitting coefficients to them came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pgrecall.models.search import SearchRequest

FEATURES = (
    "similarity",
    "token_similarity",
    "coverage",
    "information",
    "name",
    "author",
    "phrase",
    "cue",
    "session_coverage",
    "graph",
)
"""What a relevance is computed from, as search explains it; each has a coefficient of its name."""

CONSTANTS = {"similarity": "no_similarity", "token_similarity": "no_token_similarity"}
"""Coefficients of the features that a candidate can lack: what stands in for them."""

Fitted = Literal["relevance", "rerank"]
"""What is fitted: a profile's relevance, or how a reranker's score is read beside it."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a memory, by id or key, answers a question; the key of a note also names its sections.

    ``propensity`` is how likely the memory was to be shown and judged at all, above 0 and at most 1:
    what was rarely shown and nevertheless judged counts for more.
    """

    memory: int | str
    relevant: bool
    propensity: float = 1.0


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A question with its filters, and the memories judged.

    With ``complete`` every candidate that is not among ``judgements`` does not answer; else nothing is
    known of it, and it is left out.
    """

    question: SearchRequest
    judgements: tuple[Judgement, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """Coefficients of a profile: log-odds a unit of each feature, ``intercept`` and the constants.

    ``embedder`` is ``*`` where they hold for any; ``source`` says whose they are; of a profile's models
    one is ``in_force``. ``vitality_weight`` and ``vitality_mode`` None leave it to the settings.
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
    """How a reranker's score r makes a probability: logit(p) = intercept + rerank r + fused logit(p before).

    ``reranker`` is ``*`` where it holds for any that has none of its own; ``source`` says whose it is; of
    the models for one reranker one is ``in_force``.
    """

    reranker: str
    source: Literal["tenant", "database"]
    in_force: bool
    coefficients: Mapping[str, float]
    fitted_on: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well probabilities agree with judgements.

    ``log_loss`` in nats a candidate; ``brier`` the mean square error; ``ece`` the mean distance between
    predicted and observed over ten bins; ``mrr`` the mean reciprocal rank of the first relevant candidate.
    The less the better, but for ``mrr``.
    """

    log_loss: float
    brier: float
    ece: float
    mrr: float


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Candidates whose predicted probability lies in one tenth of 0 to 1.

    ``predicted`` is their mean, ``observed`` the share that is relevant, ``low`` and ``high`` its 95 %
    Wilson interval; ``count`` is unweighted.
    """

    count: int
    predicted: float
    observed: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What fitting to judged queries came to.

    ``name`` is the profile's or the reranker's. ``relevant`` of ``candidates`` answer; ``missed`` memories
    are judged relevant and were no candidates; ``left_out`` questions have no words, and relevance knows
    nothing of them. ``before`` is with the coefficients in force, ``after`` as cross-validated: each query
    predicted by coefficients fitted without it. ``gain`` is by how much the log loss falls, ``gain_low`` to
    ``gain_high`` its 95 % interval over queries. ``better`` holds when it falls at all; ``stored`` whether
    the coefficients were stored.
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
        return self.gain > 0
