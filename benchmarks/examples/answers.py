"""How good the answers to questions are: by rank where something answers, by silence where nothing does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.intervals import bootstrap_interval


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found for one question, best first, and what it ought to find.

    ``confidence`` is that of the search; None without words. ``found`` may name a note twice, by two of its
    parts: both take a place, the first alone counts.
    """

    kind: str
    relevant: frozenset[str]
    outdated: frozenset[str]
    found: tuple[str, ...]
    confidence: float | None

    def recall(self, k: int) -> float:
        """The share of what answers that is among the first k."""
        return len(self.relevant & set(self.found[:k])) / len(self.relevant)

    @property
    def reciprocal(self) -> float:
        """1 / rank of the first that answers; 0 without one."""
        return next((1 / rank for rank, key in enumerate(self.found, 1) if key in self.relevant), 0.0)

    @property
    def ndcg(self) -> float:
        """Normalised discounted cumulative gain at 10, each memory that answers gaining 1 (Järvelin 2002).

        >>> Answer("", frozenset("ab"), frozenset(), ("a", "x", "b"), 1.0).ndcg  # (1 + 1/2) / (1 + 1/log2(3))
        0.9197207891481876
        """
        gained, seen = 0.0, set[str]()
        for rank, key in enumerate(self.found[:10], 1):
            if key in self.relevant - seen:
                seen.add(key)
                gained += 1 / math.log2(rank + 1)
        return gained / sum(1 / math.log2(rank + 1) for rank in range(1, min(len(self.relevant), 10) + 1))

    @property
    def up_to_date(self) -> bool:
        """Whether no outdated memory comes before the first that answers."""
        first = next((rank for rank, key in enumerate(self.found) if key in self.relevant), len(self.found))
        return not self.outdated & set(self.found[:first])


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over the answers to questions that have one; each 0 to 1."""

    questions: int
    recall_5: float
    recall_10: float
    mrr: float
    ndcg: float
    recall_10_interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Silence:
    """How rightly a search says that nothing answers, when it says so below some confidence.

    ``precision``: of the questions it says so of, the share that has no answer (1 when it never does).
    ``recall``: of the questions without an answer, the share it says so of. ``wrongly``: of the questions
    with an answer, the share it says so of.
    """

    precision: float
    recall: float
    wrongly: float


def quality(answers: Iterable[Answer]) -> Quality:
    """Questions without an answer do not count. Raises ValueError when none is left."""
    answered = [answer for answer in answers if answer.relevant]
    if not answered:
        raise ValueError("None of these questions has an answer.")
    return Quality(
        len(answered),
        fmean(answer.recall(5) for answer in answered),
        fmean(answer.recall(10) for answer in answered),
        fmean(answer.reciprocal for answer in answered),
        fmean(answer.ndcg for answer in answered),
        bootstrap_interval([answer.recall(10) for answer in answered]),
    )


def by_kind(answers: Iterable[Answer]) -> Mapping[str, tuple[Answer, ...]]:
    """The answers of each kind, kinds in alphabetical order."""
    kinds: dict[str, list[Answer]] = {}
    for answer in answers:
        kinds.setdefault(answer.kind, []).append(answer)
    return {kind: tuple(kinds[kind]) for kind in sorted(kinds)}


def silence(answers: Sequence[Answer], threshold: float) -> Silence:
    """Of a search that answers with nothing below this confidence. Raises ValueError without both sorts."""
    asked = [(answer.relevant, answer.confidence) for answer in answers if answer.confidence is not None]
    empty = [confidence < threshold for relevant, confidence in asked if not relevant]
    others = [confidence < threshold for relevant, confidence in asked if relevant]
    if not empty or not others:
        raise ValueError("Silence is judged by questions with and without an answer.")
    said = sum(empty) + sum(others)
    return Silence(sum(empty) / said if said else 1.0, fmean(empty), fmean(others))
