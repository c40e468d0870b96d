"""How well search answers the judged questions of examples/, by kind and by stage.

    python -m benchmarks.examples [--reranker FOLDER] [--failures N] [--json]

Stages: words alone; words, names and meaning (fused), with each vitality mode; and, given a cross-encoder,
fused and reranked. The shipped relevance was fitted on these questions, so the figures flatter: they compare
stages and guard against regressions. How good search is elsewhere, `benchmarks.locomo` says.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.examples.answers import Answer, Quality, by_kind, quality, silence
from benchmarks.examples.judged import CORPORA, MIN_CONFIDENCE, Judged, ask, fill, read_judged
from benchmarks.harness import fresh_database
from benchmarks.intervals import bootstrap_interval
from benchmarks.locomo.data import RememberedVectors
from pgrecall import Memory
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import Settings, load_settings

MODES = ("off", "bounded", "multiply")
DEADLINE = 120.0
"""Seconds a reranker may take: here it is judged by what it says, not by how soon."""

Answers = Sequence[tuple[Judged, Answer]]


@dataclass(frozen=True, slots=True)
class Stage:
    """One way to search: with an embedder or without, and the options that differ from the default."""

    meaning: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)


def stages(reranked: bool) -> dict[str, Stage]:
    chosen = {
        "words": Stage(meaning=False),
        "fused": Stage(),
        **{f"vitality {mode}": Stage(options={"vitality_mode": mode}) for mode in MODES},
    }
    return chosen | ({"reranked": Stage(options={"rerank": True, "deadline": DEADLINE})} if reranked else {})


def run(reranker: str | None, settings: Settings, console: Console) -> dict[str, Answers]:
    """The answers of each stage to every judged question."""
    inner = make_embedder(settings)
    assert inner is not None, "the stages need an embedder"
    embedder = RememberedVectors(inner)
    if reranker:
        settings = replace(settings, reranker="local", reranker_model=reranker)
    judged = read_judged()
    answers: dict[str, list[tuple[Judged, Answer]]] = {name: [] for name in stages(bool(reranker))}
    with fresh_database(settings, embedder.dimensions) as url:
        for corpus in CORPORA:
            console.print(f"{corpus}: importing", style="dim")
            with Memory(url, tenant=corpus, settings=settings, embedder=embedder) as memory:
                fill(memory, corpus)
            own = [one for one in judged if one.corpus == corpus]
            for name, stage in stages(bool(reranker)).items():
                console.print(f"{corpus}: {len(own)} questions, {name}", style="dim")
                vectors = embedder if stage.meaning else None
                answers[name] += _asked(url, corpus, settings, vectors, own, stage)
    return dict(answers)


def _asked(
    url: str,
    corpus: str,
    settings: Settings,
    embedder: RememberedVectors | None,
    judged: Sequence[Judged],
    stage: Stage,
) -> Answers:
    chosen = settings if embedder else replace(settings, embedder="none")
    with Memory(url, tenant=corpus, settings=chosen, embedder=embedder) as memory:
        return [(one, ask(memory, one, **stage.options)) for one in judged]


def document(answers: Mapping[str, Answers]) -> dict[str, Any]:
    """Every figure of the tables."""
    return {
        stage: {
            "all": asdict(quality(found)),
            "silence": asdict(silence(found, MIN_CONFIDENCE)) | {"min_confidence": MIN_CONFIDENCE},
            "kinds": {kind: asdict(quality(of)) for kind, of in by_kind(found).items() if answerable(of)},
        }
        for stage, asked in answers.items()
        for found in [[answer for _, answer in asked]]
    }


def answerable(answers: Sequence[Answer]) -> bool:
    return any(answer.relevant for answer in answers)


def overview(answers: Mapping[str, Answers]) -> Table:
    """One row a stage, over all questions."""
    shown = Table(title=f"Judged questions of examples/; silence below a confidence of {MIN_CONFIDENCE:g}")
    columns = ("questions", "recall@5", "recall@10", "95%", "mrr", "95%", "ndcg@10")
    for column in ("stage", *columns, "no match: precision", "recall", "wrongly"):
        shown.add_column(column, justify="left" if column == "stage" else "right")
    for stage, asked in answers.items():
        found = [answer for _, answer in asked]
        all_of, quiet = quality(found), silence(found, MIN_CONFIDENCE)
        reciprocals = bootstrap_interval([answer.reciprocal for answer in found if answer.relevant])
        shown.add_row(
            stage,
            str(all_of.questions),
            f"{all_of.recall_5:.3f}",
            f"{all_of.recall_10:.3f}",
            between(all_of.recall_10_interval),
            f"{all_of.mrr:.3f}",
            between(reciprocals),
            f"{all_of.ndcg:.3f}",
            f"{quiet.precision:.2f}",
            f"{quiet.recall:.2f}",
            f"{quiet.wrongly:.2f}",
        )
    return shown


def kinds_table(answers: Mapping[str, Answers]) -> Table:
    """One row a kind, one column a stage: recall at 10 with its interval, and the mean reciprocal rank."""
    shown = Table(title="By kind: recall@10, its 95 % interval, mrr")
    for column in ("kind", "questions", *answers):
        shown.add_column(column, justify="left" if column == "kind" else "right")
    by_stage = {stage: by_kind(answer for _, answer in asked) for stage, asked in answers.items()}
    for kind, of in next(iter(by_stage.values())).items():
        if answerable(of):
            cells = [cell(quality(kinds[kind])) for kinds in by_stage.values()]
            shown.add_row(kind, str(len(of)), *cells)
    return shown


def cell(found: Quality) -> str:
    return f"{found.recall_10:.2f} {between(found.recall_10_interval)} {found.mrr:.2f}"


def between(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:.2f}-{bounds[1]:.2f}"


def failures(asked: Answers, count: int) -> Table:
    """The questions answered worst, the missing keys and what came first in their place."""
    shown = Table(title="Answered worst")
    for column in ("id", "kind", "question", "missing", "first", "ndcg@10", "best p"):
        shown.add_column(column)
    worst = sorted((one for one in asked if one[1].relevant), key=lambda one: one[1].ndcg)
    for judged, answer in worst[:count]:
        shown.add_row(
            judged.id,
            judged.kind,
            judged.query,
            "\n".join(sorted(judged.relevant.difference(answer.found))),
            "\n".join(answer.found[:3]),
            f"{answer.ndcg:.2f}",
            f"{answer.confidence or 0:.2f}",
        )
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reranker", metavar="FOLDER", help="folder or name of a cross-encoder")
    parser.add_argument(
        "--failures", type=int, default=0, metavar="N", help="list the N worst answers of the last stage"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    arguments = parser.parse_args()
    answers = run(arguments.reranker, load_settings(), Console(stderr=True))
    if arguments.json:
        print(json.dumps(document(answers), indent=2))
        return
    console = Console(width=200)
    console.print(overview(answers))
    console.print(kinds_table(answers))
    if arguments.failures:
        console.print(failures(list(answers.values())[-1], arguments.failures))


if __name__ == "__main__":
    main()
