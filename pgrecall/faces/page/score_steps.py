"""The steps of a hit's score: the effect of each feature on the probability that it is the answer, in per
cent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pgrecall.faces.snippets import explanation_sentence, reason_line
from pgrecall.nouns.search.models import Hit
from pgrecall.search.probabilities import logistic

Direction = Literal["base", "up", "down", "none", "sum"]

_PARTS = {
    "intercept": "any memory",
    "similarity": "similar meaning",
    "token_similarity": "similar single words",
    "coverage": "words found",
    "information": "rare words",
    "name": "title",
    "author": "author",
    "cue": "used with recent ones",
    "period": "time in the query",
    "session_coverage": "words of the session",
    "question": "only asks",
    "speaker": "who said it",
    "no_number": "no number",
    "graph": "links",
    "answer": "question before it",
    "directive": "applies",
}
_TOTALS = ("logit", "probability")
_MIN_ADDED = 0.005
"""Least log-odds of a feature that is shown."""

_MIN_SHOWN = 0.0005
"""Smallest change of the probability to show: a tenth of a per cent, rounded."""

WIDTH = 240.0
"""Width of the chart, which is 100 per cent."""


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one feature on the probability, and its bar; the next bar begins at ``joint``."""

    name: str
    value: float
    direction: Direction
    left: float
    width: float
    joint: float


@dataclass(frozen=True, slots=True)
class ScoreSteps:
    """The steps of a hit's score, the total last; a line of reason, and the whole explanation."""

    reason: str
    sentence: str
    steps: tuple[Step, ...]


def score_steps(
    hits: Sequence[Hit], query: str = "", names: Mapping[int, str] | None = None
) -> tuple[ScoreSteps, ...]:
    """The steps of all hits, on one scale; with words as in the query, and other memories by their names."""
    return tuple(
        ScoreSteps(
            reason_line(hit, query, names),
            explanation_sentence(hit, query, names),
            tuple(_steps(tuple(_parts(hit.explanation)))),
        )
        for hit in hits
    )


def _parts(explanation: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yields each feature and the log-odds it adds, except negligible ones."""
    relevance, score = explanation.get("relevance", {}), explanation.get("score", {})
    known = [name for name in _PARTS if name in relevance]
    others = [
        name
        for name, value in relevance.items()
        if name not in _PARTS and name not in _TOTALS and isinstance(value, int | float)
    ]
    counted = 0.0
    for name in (*known, *others):
        counted += relevance[name]
        if abs(relevance[name]) >= _MIN_ADDED:
            yield _PARTS.get(name, name), relevance[name]
    fused = relevance.get("logit", counted)
    if abs(fused - counted) >= _MIN_ADDED:
        yield "blending", fused - counted
    if "logit" in explanation.get("rerank", {}):
        yield "reranker", explanation["rerank"]["logit"] - fused
    if "vitality" in score:
        yield "vitality: named in the query" if score.get("exempt") else "vitality", score["vitality"]
    if abs(score.get("moved") or 0.0) >= _MIN_ADDED:
        yield "superseded" if score["moved"] < 0 else "time", score["moved"]


def _steps(parts: Sequence[tuple[str, float]]) -> Iterator[Step]:
    """Yields the probability after each part. The first is that of any memory, or 50 % if it is missing."""
    level, chance = 0.0, 0.5
    for name, value in parts:
        begin, level = chance, level + value
        chance = logistic(level)
        if name == _PARTS["intercept"]:
            yield _step(name, "base", 0.0, chance)
            continue
        change = chance - begin
        yield _step(
            name, "none" if abs(change) < _MIN_SHOWN else "up" if change > 0 else "down", begin, chance
        )
    yield _step("score", "sum", 0.0, chance)


def _step(name: str, direction: Direction, begin: float, end: float) -> Step:
    left, right = sorted((begin * WIDTH, end * WIDTH))
    return Step(
        name, end - begin, direction, round(left, 1), round(max(right - left, 1.0), 1), round(end * WIDTH, 1)
    )
