"""The steps of a hit's score, from the model's intercept to the total, as a bar chart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pgrecall.faces.snippets import explanation_sentence
from pgrecall.models.search import Hit

Direction = Literal["base", "up", "down", "none", "sum"]

_PARTS = {
    "intercept": "baseline",
    "similarity": "similarity",
    "coverage": "words found",
    "information": "rarity of the words",
    "phrase": "words side by side",
    "name": "title",
    "author": "author",
    "cue": "recent accesses",
    "period": "time in the query",
    "session_coverage": "words of the session",
    "graph": "links",
}
_TOTALS = ("logit", "probability")
_MIN_SHOWN = 0.005
_MIN_RANGE = 1.0
"""Least range of a chart in log-odds, so that small steps look small."""

WIDTH = 240.0
"""Width of the chart."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one feature adds to the log-odds, and its bar; the next one begins at ``joint``."""

    name: str
    value: float
    direction: Direction
    left: float
    width: float
    joint: float


@dataclass(frozen=True, slots=True)
class ScoreSteps:
    """The steps of a hit's score, the total last; ``zero`` is the position of even odds."""

    sentence: str
    steps: tuple[Step, ...]
    zero: float


def score_steps(hits: Sequence[Hit]) -> tuple[ScoreSteps, ...]:
    """The steps of all hits, on one scale."""
    parts = [tuple(_parts(hit.explanation)) for hit in hits]
    levels = [level for each in parts for level in _levels(each)]
    low, high = min([0.0, *levels]), max([0.0, *levels])
    unit = WIDTH / max(high - low, _MIN_RANGE)
    return tuple(
        ScoreSteps(explanation_sentence(hit), tuple(_steps(each, low, unit)), round(-low * unit, 1))
        for hit, each in zip(hits, parts, strict=True)
    )


def _parts(explanation: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each feature and the log-odds it adds, unless that is next to nothing."""
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
        if abs(relevance[name]) >= _MIN_SHOWN:
            yield _PARTS.get(name, name), relevance[name]
    fused = relevance.get("logit", counted)
    if abs(fused - counted) >= _MIN_SHOWN:
        yield "blending", fused - counted
    if "logit" in explanation.get("rerank", {}):
        yield "reranker", explanation["rerank"]["logit"] - fused
    if "vitality" in score:
        yield "vitality: named in the query" if score.get("exempt") else "vitality", score["vitality"]
    if abs(score.get("held_back") or 0.0) >= _MIN_SHOWN:
        yield "superseded", score["held_back"]


def _levels(parts: Iterable[tuple[str, float]]) -> Iterator[float]:
    reached = 0.0
    for _, value in parts:
        reached += value
        yield reached


def _steps(parts: Sequence[tuple[str, float]], low: float, unit: float) -> Iterator[Step]:
    reached = 0.0
    for name, value in parts:
        begin, reached = reached, reached + value
        direction: Direction = "none" if abs(value) < _MIN_SHOWN else "up" if value > 0 else "down"
        direction = "base" if name == _PARTS["intercept"] else direction
        yield _step(name, value, direction, begin, reached, low, unit)
    yield _step("total", reached, "sum", 0.0, reached, low, unit)


def _step(
    name: str, value: float, direction: Direction, begin: float, end: float, low: float, unit: float
) -> Step:
    left, right = sorted(((begin - low) * unit, (end - low) * unit))
    joint = round((end - low) * unit, 1)
    return Step(name, value, direction, round(left, 1), round(max(right - left, 1.0), 1), joint)
