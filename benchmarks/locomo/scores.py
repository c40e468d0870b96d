"""Measures of the rankings of LoCoMo questions, their intervals, and published baselines."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from rich.table import Table

from benchmarks.intervals import bootstrap_interval
from benchmarks.locomo.data import LOCOMO, Corpus, Question, Turn
from pgrecall.nouns.memories.models import Role

CUTOFFS = (1, 5, 10, 50)
NEWER = "newer first"
GROUPINGS = ("category", "role of the evidence", "length of the evidence")

PEERS: Mapping[str, tuple[float, ...]] = {
    "BM25 with a stemmer": (0.565, 0.281, 0.732, 0.273, 0.629),
    "MiniLM alone": (0.512, 0.292, 0.595, 0.311, 0.578),
    "RRF (k = 60) of these two": (0.591,),
    "full text with OR": (0.600, 0.410, 0.760, 0.331, 0.634),
    "full text with AND": (0.005,),
    "LlamaIndex, relative score": (0.678, 0.428, 0.806, 0.379, 0.746),
    "LlamaIndex, RRF": (0.625,),
    "LangChain, weighted": (0.545,),
    "mem0, without its language model": (0.514,),
    "Ori-Mnemos": (0.570,),
    "Remind": (0.559,),
}
"""Published LoCoMo retrieval baselines measured by us: recall@10 over categories 1 to 4, and of each of them
where it was kept. Conversations 26, 30, 41, 42 and 43, the same vectors, `Speaker: text`; full text with AND
the bare text. No reranker anywhere."""


@dataclass
class Scores:
    """The questions of one stage and the keys found for each, best first."""

    questions: list[Question] = field(default_factory=list)
    found: list[Sequence[str]] = field(default_factory=list)

    def add(self, question: Question, found: Sequence[str]) -> None:
        self.questions.append(question)
        self.found.append(found)

    def measures(self) -> dict[str, list[float]]:
        """Recall at each cutoff and the reciprocal rank of the first evidence turn, by question."""
        asked = list(zip(self.questions, self.found, strict=True))
        ranks = (
            next((n for n, key in enumerate(keys, 1) if key in one.evidence), None) for one, keys in asked
        )
        return {
            **{f"recall@{k}": [question.recall(keys, k) for question, keys in asked] for k in CUTOFFS},
            "mrr": [1 / rank if rank else 0.0 for rank in ranks],
        }

    def newer_first(self) -> list[float]:
        """Of each question with a stale turn, whether the turn that replaces it was before it."""
        asked = zip(self.questions, self.found, strict=True)
        return [float(question.newer_first(keys)) for question, keys in asked if question.stale]

    def summary(self, corpus: Corpus, turns: Mapping[str, Turn]) -> dict[str, Any]:
        """The mean of every measure with its 95 % interval, and recall@10 by group.

        By role and by length, a question counts in every group that has some of its evidence, with the recall
        of that part.
        """
        figures: dict[str, Any] = {"questions": len(self.questions)}
        for name, values in self.measures().items():
            figures |= {name: _mean(values), f"{name} 95%": _interval(values)}
        if newer := self.newer_first():
            figures |= {NEWER: _mean(newer), f"{NEWER} 95%": _interval(newer), "pairs": len(newer)}
        groups = (self._by_category(corpus), self._by_role(turns), self._by_length(turns))
        for grouping, recalls in zip(GROUPINGS, groups, strict=True):
            figures[f"recall@10 by {grouping}"] = {
                name: {"mean": _mean(values), "95%": _interval(values), "questions": len(values)}
                for name, values in recalls
                if values
            }
        return figures

    def _by_category(self, corpus: Corpus) -> Iterator[tuple[str, list[float]]]:
        recalls = list(zip(self.questions, self.measures()["recall@10"], strict=True))
        for name in dict.fromkeys([*corpus.categories.values(), *(one.category for one in self.questions)]):
            yield name, [recall for question, recall in recalls if question.category == name]

    def _by_role(self, turns: Mapping[str, Turn]) -> Iterator[tuple[str, list[float]]]:
        for role in get_args(Role):
            yield role, self._recall_of({key for key, turn in turns.items() if turn.role == role})

    def _by_length(self, turns: Mapping[str, Turn]) -> Iterator[tuple[str, list[float]]]:
        """Quartiles of the lengths of all evidence."""
        evidence = {key for question in self.questions for key in question.evidence}
        lengths = sorted(turns[key].length for key in evidence)
        bounds = (
            [lengths[len(lengths) * quarter // 4 - 1] for quarter in range(1, 5)] if len(lengths) > 3 else []
        )
        for low, high in zip([-1, *bounds], bounds, strict=False):
            name = f"{low + 1:,} to {high:,} characters"
            yield name, self._recall_of({key for key in evidence if low < turns[key].length <= high})

    def _recall_of(self, group: Collection[str]) -> list[float]:
        parts = [question.evidence.intersection(group) for question in self.questions]
        return [_recall(part, keys, 10) for part, keys in zip(parts, self.found, strict=True) if part]


def _recall(evidence: Collection[str], found: Sequence[str], k: int) -> float:
    return len(set(evidence) & set(found[:k])) / len(evidence)


def _mean(values: Sequence[float]) -> float:
    return round(statistics.fmean(values), 4)


def _interval(values: Sequence[float]) -> list[float]:
    return [round(bound, 4) for bound in bootstrap_interval(values)]


def gain(scores: Scores, over: Scores) -> dict[str, Any]:
    """The mean difference on the same questions and its 95 % interval, for recall@10 and MRR."""
    mine, theirs = scores.measures(), over.measures()
    differences = {
        name: [a - b for a, b in zip(mine[name], theirs[name], strict=True)] for name in ("recall@10", "mrr")
    }
    return {name: [_mean(values), *_interval(values)] for name, values in differences.items()}


def verdict(scores: Mapping[str, Scores], fused: str, arms: Sequence[str]) -> dict[str, Any]:
    """Whether fused is as good as the best arm alone: the interval of the difference reaches zero."""
    means = {arm: {name: _mean(values) for name, values in scores[arm].measures().items()} for arm in arms}
    result: dict[str, Any] = {}
    for name in ("recall@10", "mrr"):
        best = max(arms, key=lambda arm: means[arm][name])
        mean, low, high = gain(scores[fused], scores[best])[name]
        result[name] = {"best arm": best, "difference": mean, "95%": [low, high], "ok": high >= 0}
    return result


def tables(stages: Mapping[str, Mapping[str, Any]], corpus: Corpus, title: str) -> list[Table]:
    """One table of the measures, one of recall@10 by group; a row for each stage."""
    overall, grouped = Table(title=title), Table(title="recall@10 by group")
    newer = all(NEWER in result for result in stages.values())
    names = [*(f"recall@{k}" for k in CUTOFFS), "mrr", *([NEWER] if newer else [])]
    for column in ("stage", *names):
        overall.add_column(column, justify="left" if column == "stage" else "right")
    for stage, result in stages.items():
        overall.add_row(stage, *(_figure(result[name], result[f"{name} 95%"]) for name in names))
    grouped.add_column("group")
    grouped.add_column("questions", justify="right")
    for stage in stages:
        grouped.add_column(stage, justify="right")
    for grouping in GROUPINGS:
        groups = [result[f"recall@10 by {grouping}"] for result in stages.values()]
        for name in groups[0]:
            figures = (_figure(group[name]["mean"], group[name]["95%"]) for group in groups)
            grouped.add_row(name, str(groups[0][name]["questions"]), *figures)
        grouped.add_section()
    if corpus is not LOCOMO:
        return [overall, grouped]
    peers = Table(title="recall@10 of published baselines, measured by us; conversations 26, 30, 41, 42, 43")
    for column in ("baseline", "all", *corpus.categories.values()):
        peers.add_column(column, justify="left" if column == "baseline" else "right")
    for peer, recalls in PEERS.items():
        peers.add_row(peer, *(f"{recall:.3f}" for recall in recalls))
    return [overall, grouped, peers]


def _figure(mean: float, bounds: Sequence[float]) -> str:
    low, high = bounds
    return f"{mean:.3f} [dim]{low:.2f}-{high:.2f}[/dim]"
