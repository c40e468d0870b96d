"""What one row of the table says: all arms against the better one, the newest of two, and silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from benchmarks.intervals import bootstrap_interval
from benchmarks.locomo.data import Question
from benchmarks.locomo.scores import NEWER, Scores
from benchmarks.locomo.stages import ARMS_ALONE, FUSED

MEASURES = ("recall@10", "mrr")


@dataclass
class Outcome:
    """The answers to the questions of a collection, by stage.

    ``absent`` is of each question without evidence whether the search with all arms said that something
    answers it, ``present`` the same of each question with evidence.
    """

    scores: dict[str, Scores] = field(
        default_factory=lambda: {stage: Scores() for stage in (*ARMS_ALONE, FUSED)}
    )
    absent: list[bool] = field(default_factory=list)
    present: list[bool] = field(default_factory=list)

    def add(self, stage: str, question: Question, found: Sequence[str], answered: bool) -> None:
        if question.evidence:
            self.scores[stage].add(question, found)
        if stage == FUSED:
            (self.present if question.evidence else self.absent).append(answered)

    def row(self) -> dict[str, Any]:
        """Each measure, also by kind, and the shares of questions that were said to have no answer."""
        kinds = list(dict.fromkeys(question.category for question in self.scores[FUSED].questions))
        return {
            "questions": len(self.present),
            **_compared(self.scores),
            "silent": {
                "absent": [_share_silent(self.absent), len(self.absent)],
                "present": [_share_silent(self.present), len(self.present)],
            },
            "kinds": {kind: _compared(_of_kind(self.scores, kind)) for kind in kinds},
        }


def _of_kind(scores: Mapping[str, Scores], kind: str) -> dict[str, Scores]:
    chosen = {stage: Scores() for stage in scores}
    for stage, all_ in scores.items():
        for question, found in zip(all_.questions, all_.found, strict=True):
            if question.category == kind:
                chosen[stage].add(question, found)
    return chosen


def _compared(scores: Mapping[str, Scores]) -> dict[str, Any]:
    """Each measure of all arms and of the better one, and their difference, unless no question has it."""
    values: dict[str, dict[str, list[float]]] = {measure: {} for measure in (*MEASURES, NEWER)}
    for stage, score in scores.items():
        measured = {**score.measures(), NEWER: score.newer_first()}
        for measure, by_stage in values.items():
            by_stage[stage] = measured[measure]
    return {measure: against_best(by_stage) for measure, by_stage in values.items() if by_stage[FUSED]}


def against_best(values: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """The mean of all arms, that of the best arm alone, and the interval of their difference, by question.

    ``ok`` is whether the interval reaches zero: whether chance explains that all arms are worse.
    """
    best = max(ARMS_ALONE, key=lambda arm: fmean(values[arm]))
    differences = [mine - theirs for mine, theirs in zip(values[FUSED], values[best], strict=True)]
    low, high = bootstrap_interval(differences)
    return {
        "questions": len(differences),
        "fused": fmean(values[FUSED]),
        "best arm": best,
        "alone": fmean(values[best]),
        "difference": fmean(differences),
        "95%": [low, high],
        "ok": high >= 0,
    }


def _share_silent(answered: Sequence[bool]) -> float | None:
    return fmean(not one for one in answered) if answered else None
