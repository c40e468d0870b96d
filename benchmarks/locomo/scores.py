"""What the rankings of LoCoMo questions are worth, how sure that is, and what others reach."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from benchmarks.intervals import bootstrap_interval
from benchmarks.locomo.data import CATEGORIES, Question

CUTOFFS = (1, 5, 10, 25, 50)

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
    """Per question: recall at each cutoff and the reciprocal rank of the first evidence turn."""

    recall: dict[int, list[float]] = field(default_factory=lambda: {k: [] for k in CUTOFFS})
    reciprocal: list[float] = field(default_factory=list)
    category: list[int] = field(default_factory=list)

    def add(self, question: Question, found: Sequence[str]) -> None:
        for k in CUTOFFS:
            self.recall[k].append(len(question.evidence & set(found[:k])) / len(question.evidence))
        ranks = (1 / rank for rank, key in enumerate(found, 1) if key in question.evidence)
        self.reciprocal.append(next(ranks, 0.0))
        self.category.append(question.category)

    def summary(self) -> dict[str, Any]:
        at_ten = self.recall[10]
        by_category = {
            name: values
            for number, name in CATEGORIES.items()
            if (values := [r for r, c in zip(at_ten, self.category, strict=True) if c == number])
        }
        return {
            **{f"recall@{k}": round(statistics.fmean(values), 4) for k, values in self.recall.items()},
            "mrr": round(statistics.fmean(self.reciprocal), 4),
            "recall@10 95%": _interval(at_ten),
            "mrr 95%": _interval(self.reciprocal),
            "recall@10 by category": {
                name: round(statistics.fmean(values), 4) for name, values in by_category.items()
            },
            "recall@10 by category 95%": {name: _interval(values) for name, values in by_category.items()},
            "questions": len(at_ten),
        }


def _interval(values: Sequence[float]) -> list[float]:
    return [round(bound, 4) for bound in bootstrap_interval(values)]


def gain(scores: Scores, over: Scores) -> dict[str, Any]:
    """How much better the same questions were answered, with 95 % intervals of the mean difference."""
    differences = {
        "recall@10": [a - b for a, b in zip(scores.recall[10], over.recall[10], strict=True)],
        "mrr": [a - b for a, b in zip(scores.reciprocal, over.reciprocal, strict=True)],
    }
    return {
        name: [round(statistics.fmean(values), 4), *_interval(values)] for name, values in differences.items()
    }


def table(stages: Mapping[str, Mapping[str, Any]], title: str) -> Table:
    """A row for each stage, then one for each peer: figures with their intervals."""
    shown = Table(title=title)
    narrow = [f"recall@{k}" for k in CUTOFFS if k != 10]
    for column in ("stage", "recall@10", "MRR", *narrow, *CATEGORIES.values()):
        shown.add_column(column, justify="left" if column == "stage" else "right")
    for stage, result in stages.items():
        shown.add_row(
            stage,
            _between(result["recall@10"], result["recall@10 95%"]),
            _between(result["mrr"], result["mrr 95%"]),
            *(f"{result[column]:.3f}" for column in narrow),
            *(
                _between(result["recall@10 by category"][name], result["recall@10 by category 95%"][name])
                if name in result["recall@10 by category"]
                else ""
                for name in CATEGORIES.values()
            ),
        )
    shown.add_section()
    for peer, (overall, *by_category) in PEERS.items():
        figures = [f"{figure:.3f}" for figure in by_category] or [""] * len(CATEGORIES)
        shown.add_row(peer, f"{overall:.3f}", "", *("" for _ in narrow), *figures, style="dim")
    return shown


def _between(mean: float, bounds: Sequence[float]) -> str:
    low, high = bounds
    return f"{mean:.3f} [dim]{low:.2f}-{high:.2f}[/dim]"
