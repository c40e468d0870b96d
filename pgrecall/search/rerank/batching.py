"""Batching of query-candidate pairs by length, with a deadline that keeps the batches completed by then."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from pgrecall.errors import InvalidInput
from pgrecall.search.deadline import IsCancelled, run_within
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome, Scale, as_logits, rank_by_logit

MAX_PAIRS = 50
QUERY_CHARACTERS = 2_000
# Relative to one padded batch of 50 chat turns, sorting all by length costs .68 and two groups of 25 cost
# .78; but with groups, a deadline keeps the better half.
_GROUP = 25

Score = Callable[[str, Sequence[str]], object]
"""Returns one number for each text, on the scale that the model declares, given a query and texts."""


@dataclass(frozen=True, slots=True)
class BatchingRules:
    """How the reranker ``name`` reads candidates: the first ``pairs``, truncated to ``characters``.

    Texts of similar length are batched together, which saves padding. Without a deadline, all texts are
    sorted by length; with a deadline, only within each ``group`` of ranks, so that the deadline drops the
    lowest ranks.

    Raises:
        InvalidInput: a number is less than 1, or the scale is not one of Scale.
    """

    name: str
    scale: Scale
    pairs: int = MAX_PAIRS
    group: int = _GROUP
    characters: int = 8_000

    def __post_init__(self) -> None:
        if self.scale not in get_args(Scale):
            raise InvalidInput(f"The scale {self.scale!r} is unknown.", hint="Declare logit or probability.")
        for number in ("pairs", "group", "characters"):
            require_positive(number, getattr(self, number))


@dataclass(frozen=True, slots=True)
class Scorer:
    """A loaded model and its batch size."""

    score: Score
    batch: int


class BatchingReranker(ABC):
    """A reranker that reads candidates in batches; a subclass provides the rules and the model."""

    _rules: BatchingRules

    @property
    def name(self) -> str:
        return self._rules.name

    @property
    def scale(self) -> Scale:
        return self._rules.scale

    def rerank(
        self, query: str, candidates: Sequence[RerankCandidate], *, top_n: int, deadline: float | None = None
    ) -> RerankOutcome:
        return rerank_in_batches(self._rules, self._scorer, query, candidates, top_n=top_n, deadline=deadline)

    @abstractmethod
    def _scorer(self) -> Scorer:
        """Returns the model, loading it first if necessary."""


def rerank_in_batches(
    rules: BatchingRules,
    prepare: Callable[[], Scorer],
    query: str,
    candidates: Sequence[RerankCandidate],
    *,
    top_n: int,
    deadline: float | None,
) -> RerankOutcome:
    """Returns the ``top_n`` best of the candidates read within ``deadline`` seconds; None sets no limit.

    The deadline includes ``prepare``, which may load a model.

    Raises:
        InvalidInput: ``top_n``, ``deadline`` or the ids are invalid.
        RerankerError: the scorer failed, or returned something other than scores.
    """
    require_rerankable(candidates, top_n, deadline)
    query = query[:QUERY_CHARACTERS]
    texts = [candidate.text[: rules.characters] for candidate in candidates[: rules.pairs]]
    if not texts:
        return RerankOutcome()
    group = len(texts) if deadline is None else rules.group
    ready: list[Scorer] = []
    done: list[tuple[list[int], list[float]]] = []

    def work(is_cancelled: IsCancelled) -> None:
        ready.append(prepare())
        for places in batches([len(text) for text in texts], group, ready[0].batch):
            if is_cancelled():
                return
            values = ready[0].score(query, [texts[place] for place in places])
            done.append((places, as_logits(values, len(places), rules.scale, rules.name)))

    in_time = run_within(deadline, work, rules.name)
    logits: dict[int, float] = {}
    for places, scores in tuple(done):
        logits.update(zip(places, scores, strict=True))
    return RerankOutcome(
        rank_by_logit(candidates, logits, top_n),
        complete=in_time,
        reason=None if in_time else _late_reason(deadline, len(logits), len(texts), bool(ready)),
    )


def batches(lengths: Sequence[int], group: int, batch: int) -> Iterator[list[int]]:
    """Yields the indices of the texts of each batch, group by group. The shortest of a group come first, so
    that some are done at an early deadline."""
    for start in range(0, len(lengths), group):
        places = range(start, min(start + group, len(lengths)))
        by_length = sorted(places, key=lengths.__getitem__)
        for first in range(0, len(by_length), batch):
            yield by_length[first : first + batch]


def require_rerankable(candidates: Sequence[RerankCandidate], top_n: int, deadline: float | None) -> None:
    """Raises InvalidInput if ``top_n``, the deadline or the ids are invalid."""
    require_positive("top_n", top_n)
    if deadline is not None and math.isnan(deadline):
        raise InvalidInput("The deadline is not a number.", hint="Give seconds, or None for no limit.")
    if len({candidate.id for candidate in candidates}) < len(candidates):
        raise InvalidInput("Two candidates have the same id.", hint="Give each memory once.")


def require_positive(name: str, value: int) -> int:
    """Returns ``value``; raises InvalidInput if it is less than 1."""
    if value < 1:
        raise InvalidInput(f"A reranker cannot work with {name} {value}.", hint="Give at least 1.")
    return value


def _late_reason(deadline: float | None, read: int, due: int, ready: bool) -> str:
    limit = f"the deadline of {deadline:g} seconds passed"
    if not ready and deadline and deadline > 0:
        return f"{limit} while the model was being loaded"
    return f"{limit} with {read} of {due} pairs read"
