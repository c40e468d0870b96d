"""Why an answer stands where it does, as steps to be drawn: from what holds of any memory to its score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pgrecall.faces.cli.rendering.snippets import matches
from pgrecall.models.search import Hit
from pgrecall.search.explanation import sentence

Direction = Literal["base", "up", "down", "none", "sum"]

_PARTS = {
    "intercept": "before anything is known",
    "similarity": "meaning",
    "coverage": "words it holds",
    "information": "how rare they are",
    "phrase": "words side by side",
    "name": "its name",
    "author": "its author",
    "cue": "what was just used",
    "graph": "its links",
}
_NO_PART = ("logit", "probability")
_WORTH_DRAWING = 0.005
_NARROWEST = 1.0
"""Log-odds that a picture spans at least: what hardly counts is not made to look large."""

_READ = 200_000
WIDE = 240.0
"""Width of a picture of steps."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one reason adds to the log-odds; in the picture from ``left`` on, ``width`` wide."""

    name: str
    value: float
    direction: Direction
    left: float
    width: float
    joint: float
    """Where the next step begins."""


@dataclass(frozen=True, slots=True)
class Why:
    """The reasons of a hit in the order they count, their sum last; ``zero`` is where the odds are even."""

    sentence: str
    steps: tuple[Step, ...]
    zero: float


def reasons(hits: Sequence[Hit]) -> tuple[Why, ...]:
    """Why each hit stands where it does, all drawn to one scale."""
    parts = [tuple(_parts(hit.explanation)) for hit in hits]
    levels = [level for each in parts for level in _levels(each)]
    low, high = min([0.0, *levels]), max([0.0, *levels])
    unit = WIDE / max(high - low, _NARROWEST)
    return tuple(
        Why(_sentence(hit), tuple(_steps(each, low, unit)), round(-low * unit, 1))
        for hit, each in zip(hits, parts, strict=True)
    )


def _parts(explanation: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each reason and the log-odds it adds; those that add nothing are left out."""
    relevance, score = explanation.get("relevance", {}), explanation.get("score", {})
    known = [name for name in _PARTS if name in relevance]
    others = [
        name
        for name, value in relevance.items()
        if name not in _PARTS and name not in _NO_PART and isinstance(value, int | float)
    ]
    counted = 0.0
    for name in (*known, *others):
        counted += relevance[name]
        if abs(relevance[name]) >= _WORTH_DRAWING:
            yield _PARTS.get(name, name), relevance[name]
    fused = relevance.get("logit", counted)
    if abs(fused - counted) >= _WORTH_DRAWING:
        yield "how these are blended", fused - counted
    if "logit" in explanation.get("rerank", {}):
        yield "reading it beside the question", explanation["rerank"]["logit"] - fused
    if "vitality" in score:
        yield "vitality: asked for by name" if score.get("exempt") else "vitality", score["vitality"]
    if abs(score.get("held_back") or 0.0) >= _WORTH_DRAWING:
        yield "what supersedes it comes first", score["held_back"]


def _levels(parts: Iterable[tuple[str, float]]) -> Iterator[float]:
    reached = 0.0
    for _, value in parts:
        reached += value
        yield reached


def _steps(parts: Sequence[tuple[str, float]], low: float, unit: float) -> Iterator[Step]:
    reached = 0.0
    for name, value in parts:
        begin, reached = reached, reached + value
        direction: Direction = "none" if abs(value) < _WORTH_DRAWING else "up" if value > 0 else "down"
        direction = "base" if name == _PARTS["intercept"] else direction
        yield _step(name, value, direction, begin, reached, low, unit)
    yield _step("together", reached, "sum", 0.0, reached, low, unit)


def _step(
    name: str, value: float, direction: Direction, begin: float, end: float, low: float, unit: float
) -> Step:
    left, right = sorted(((begin - low) * unit, (end - low) * unit))
    joint = round((end - low) * unit, 1)
    return Step(name, value, direction, round(left, 1), round(max(right - left, 1.0), 1), joint)


def _sentence(hit: Hit) -> str:
    """The explanation in words, with stems as the memory spells them."""
    words: Mapping[str, float] = hit.explanation.get("arms", {}).get("lexical", {}).get("words", {})
    text = f"{hit.title} {hit.author or ''} {hit.body}"[:_READ]
    spelt = {lexeme: text[begin:end].lower() for begin, end, lexeme in reversed(matches(text, words))}
    return sentence(hit.explanation, spelt)
