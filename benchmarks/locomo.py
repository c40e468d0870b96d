"""How well search finds the evidence turns of LoCoMo questions.

    python -m benchmarks.locomo PATH [--json] [--now 2026-01-01]

PATH is the public LoCoMo JSON (a list of conversations, may be gzipped). Every conversation is a
corpus of its own, as in the published baselines. Categories 1 to 4 count; the adversarial
category 5 asks for things that were never said. Evidence that names no turn is dropped.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.database import fresh_database
from pgrecall.client import Memory, SearchOptions
from pgrecall.importers import read_transcript
from pgrecall.search.embedding import Embedder, make_embedder
from pgrecall.settings import Settings, load_settings

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
CUTOFFS = (1, 5, 10, 25, 50)
RESAMPLES = 2000


@dataclass(frozen=True)
class Question:
    tenant: str
    text: str
    category: int
    evidence: frozenset[str]


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
        low, high = interval(at_ten)
        return {
            **{f"recall@{k}": round(statistics.fmean(values), 4) for k, values in self.recall.items()},
            "mrr": round(statistics.fmean(self.reciprocal), 4),
            "recall@10 95%": [round(low, 4), round(high, 4)],
            "recall@10 by category": {
                name: round(statistics.fmean(values), 4)
                for number, name in CATEGORIES.items()
                if (values := [r for r, c in zip(at_ten, self.category, strict=True) if c == number])
            },
            "questions": len(at_ten),
        }


def interval(values: Sequence[float]) -> tuple[float, float]:
    """A 95 % bootstrap interval of the mean over questions."""
    generator = random.Random(1)
    means = sorted(statistics.fmean(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]


def load(path: Path) -> list[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        data = json.load(stream)
    return data if isinstance(data, list) else [data]


def questions_of(conversation: dict[str, Any]) -> Iterable[Question]:
    """Questions of categories 1 to 4 whose evidence names at least one turn that exists."""
    name = conversation["sample_id"]
    sessions = [value for value in conversation["conversation"].values() if isinstance(value, list)]
    turns = {turn["dia_id"] for session in sessions for turn in session}
    for entry in conversation["qa"]:
        cited = {
            f"D{session}:{turn}"
            for text in entry.get("evidence", ())
            for session, turn in re.findall(r"D:?(\d+):0*(\d+)", text)
        }
        if entry["category"] in CATEGORIES and cited & turns:
            keys = frozenset(f"{name}/{turn}" for turn in cited & turns)
            yield Question(name, entry["question"], entry["category"], keys)


def import_conversation(
    conversation: dict[str, Any], url: str, settings: Settings, embedder: Embedder | None
) -> None:
    name = conversation["sample_id"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.json"
        path.write_text(json.dumps([conversation]), encoding="utf-8")
        with Memory(url, tenant=name, settings=settings, embedder=embedder) as memory:
            report = memory.import_drafts(
                read_transcript(path, source="locomo"), source="locomo", strict=True
            )
            assert report.created, f"{name} was not imported"


class RememberedVectors:
    """Embeds each text once: the stages ask the same questions."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, list[float]] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return [self._known[text] for text in texts]


def evaluate(
    questions: Sequence[Question], search: Callable[[Question], Sequence[str]], scores: Scores
) -> None:
    for question in questions:
        scores.add(question, search(question))


def run(path: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    settings = load_settings()
    inner = make_embedder(settings)
    embedder = RememberedVectors(inner) if inner else None
    stages: dict[str, tuple[Embedder | None, SearchOptions]] = {
        "words": (None, {}),
        "fused": (embedder, {}),
        "fused, vitality off": (embedder, {"vitality_mode": "off"}),
        "fused, vitality multiply": (embedder, {"vitality_mode": "multiply"}),
    }
    scores = {stage: Scores() for stage in stages}
    with fresh_database(settings, embedder.dimensions if embedder else 384) as url:
        for conversation in load(path):
            progress(f"{conversation['sample_id']}: importing")
            import_conversation(conversation, url, settings, embedder)
            questions = list(questions_of(conversation))
            progress(f"{conversation['sample_id']}: {len(questions)} questions")
            for stage, (vectors, options) in stages.items():
                chosen = settings if vectors else settings.model_copy(update={"embedder": "none"})
                with Memory(
                    url, tenant=conversation["sample_id"], settings=chosen, embedder=vectors
                ) as memory:
                    evaluate(questions, _searcher(memory, options), scores[stage])
    return {stage: score.summary() for stage, score in scores.items()}


def _searcher(memory: Memory, options: SearchOptions) -> Callable[[Question], Sequence[str]]:
    wanted: SearchOptions = {"k": 50, "explain": False, "log": False, **options}
    return lambda question: [hit.key or "" for hit in memory.search(question.text, **wanted).hits]


def table(results: dict[str, Any], settings: Settings) -> Table:
    shown = Table(title=f"LoCoMo evidence, categories 1-4, no reranker; embedder {settings.embedder}")
    columns = [*(f"recall@{k}" for k in CUTOFFS), "mrr"]
    for column in ("stage", *columns, "recall@10 95%", *CATEGORIES.values()):
        shown.add_column(column, justify="left" if column == "stage" else "right")
    for stage, result in results.items():
        low, high = result["recall@10 95%"]
        shown.add_row(
            stage,
            *(f"{result[column]:.3f}" for column in columns),
            f"[{low:.3f}, {high:.3f}]".replace("[", r"\["),
            *(
                f"{result['recall@10 by category'].get(name, float('nan')):.3f}"
                for name in CATEGORIES.values()
            ),
        )
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    arguments = parser.parse_args()
    errors = Console(stderr=True)
    results = run(arguments.path, lambda line: errors.print(line, style="dim"))
    if arguments.json:
        print(json.dumps(results, indent=2))
    else:
        Console(width=200).print(table(results, load_settings()))


if __name__ == "__main__":
    main()
