"""Pairs in batches: of like length, the best candidates first, and what is done by the deadline is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from pgrecall.errors import InvalidInput
from pgrecall.search.deadline import GivenUp, run_within
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome, Scale, as_logits, in_new_order

MOST_PAIRS = 50
QUERY_CHARACTERS = 2_000
# Of 50 chat turns, all sorted by length cost .68 of one padded batch and two groups of 25 cost .78; but a
# deadline then keeps the better half, not the longer one.
_GROUP = 25

Score = Callable[[str, Sequence[str]], object]
"""A question and texts to one number for each text, on the scale that the model declares."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the reranker ``name`` reads: the first ``pairs`` candidates, ``characters`` of each.

    Texts of like length are read together, which saves padding: all of them where there is no deadline,
    else those of each ``group`` of ranks, so that a deadline cuts off the least promising.

    Raises:
        InvalidInput: a number is less than 1, or the scale is not one of Scale.
    """

    name: str
    scale: Scale
    pairs: int = MOST_PAIRS
    group: int = _GROUP
    characters: int = 8_000

    def __post_init__(self) -> None:
        if self.scale not in get_args(Scale):
            raise InvalidInput(f"The scale {self.scale!r} is unknown.", hint="Declare logit or probability.")
        for number in ("pairs", "group", "characters"):
            require_positive(number, getattr(self, number))


@dataclass(frozen=True, slots=True)
class Scorer:
    """A model that is ready, and how many pairs it reads best in one call."""

    score: Score
    batch: int


def rerank_in_batches(
    rules: Rules,
    prepare: Callable[[], Scorer],
    query: str,
    candidates: Sequence[RerankCandidate],
    *,
    top_n: int,
    deadline: float | None,
) -> RerankOutcome:
    """The ``top_n`` best of the candidates read within ``deadline`` seconds; None sets no limit.

    The deadline holds for ``prepare`` too, which may load a model.

    Raises:
        InvalidInput: ``top_n``, ``deadline`` or the ids cannot be used.
        RerankerError: the scorer failed, or returned something that is not scores.
    """
    require_rerankable(candidates, top_n, deadline)
    question = query[:QUERY_CHARACTERS]
    texts = [candidate.text[: rules.characters] for candidate in candidates[: rules.pairs]]
    if not texts:
        return RerankOutcome()
    group = len(texts) if deadline is None else rules.group
    ready: list[Scorer] = []
    done: list[tuple[list[int], list[float]]] = []

    def work(given_up: GivenUp) -> None:
        ready.append(prepare())
        for places in batches([len(text) for text in texts], group, ready[0].batch):
            if given_up():
                return
            values = ready[0].score(question, [texts[place] for place in places])
            done.append((places, as_logits(values, len(places), rules.scale, rules.name)))

    in_time = run_within(deadline, work, rules.name)
    logits: dict[int, float] = {}
    for places, scores in tuple(done):
        logits.update(zip(places, scores, strict=True))
    return RerankOutcome(
        in_new_order(candidates, logits, top_n),
        complete=in_time,
        reason=None if in_time else _lateness(deadline, len(logits), len(texts), bool(ready)),
    )


def batches(lengths: Sequence[int], group: int, batch: int) -> Iterator[list[int]]:
    """The places of the texts of each batch, group after group. The shortest of a group go first, so that
    a deadline that comes early finds some read."""
    for start in range(0, len(lengths), group):
        places = range(start, min(start + group, len(lengths)))
        by_length = sorted(places, key=lengths.__getitem__)
        for first in range(0, len(by_length), batch):
            yield by_length[first : first + batch]


def require_rerankable(candidates: Sequence[RerankCandidate], top_n: int, deadline: float | None) -> None:
    """Raises InvalidInput unless a reranker can be asked this."""
    require_positive("top_n", top_n)
    if deadline is not None and math.isnan(deadline):
        raise InvalidInput("The deadline is not a number.", hint="Give seconds, or None for no limit.")
    if len({candidate.id for candidate in candidates}) < len(candidates):
        raise InvalidInput("Two candidates have the same id.", hint="Give each memory once.")


def require_positive(name: str, value: int) -> int:
    """The same count. Raises InvalidInput for one that is less than 1."""
    if value < 1:
        raise InvalidInput(f"A reranker cannot work with {name} {value}.", hint="Give at least 1.")
    return value


def _lateness(deadline: float | None, read: int, due: int, ready: bool) -> str:
    limit = f"the deadline of {deadline:g} seconds passed"
    if not ready and deadline and deadline > 0:
        return f"{limit} while the model was being loaded"
    return f"{limit} with {read} of {due} pairs read"
