"""How well search finds the evidence turns of LoCoMo questions.

    python -m benchmarks.locomo PATH [--reranker FOLDER] [--note TEXT] [--json]

PATH is the public LoCoMo JSON (a list of conversations, may be gzipped). Every conversation is a corpus of
its own, as in the published baselines. Categories 1 to 4 count; the adversarial category 5 asks for things
that were never said. Evidence that names no turn is dropped.

Stages: each arm alone (the others weigh 0), all of them, vitality otherwise weighed, and with --reranker all
of them and then a cross-encoder over the best 50. FOLDER holds one for sentence-transformers or for ONNX
Runtime. --note is shown beside its figures: say there if it was trained on these conversations, which
flatters it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.harness import fresh_database
from benchmarks.locomo.data import Question, RememberedVectors, import_conversation, load, questions_of
from benchmarks.locomo.scores import Scores, gain, table
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.search.embed.embedder import make_embedder
from pgrecall.search.rerank.local import LocalReranker
from pgrecall.search.rerank.onnx import OnnxReranker
from pgrecall.search.rerank.reranker import Reranker, warm_up
from pgrecall.settings import Settings, load_settings

PAIRS = 50
PATIENCE = 600.0
"""Seconds a question: quality is measured here, and no deadline may cut it."""

ARMS = ("semantic", "lexical", "name", "author", "cue", "graph", "period")
FUSED = "fused"
ALONE = {
    "words": ("lexical",),
    "meaning": ("semantic",),
    "names": ("name", "author"),
    "words and names": ("lexical", "name", "author"),
}


def stages(*, embeds: bool, reranks: bool) -> dict[str, SearchOptions]:
    """The options of each stage, by its name."""
    alone: dict[str, SearchOptions] = {
        stage: {"weights": {arm: 0.0 for arm in ARMS if arm not in kept}, "vitality_mode": "off"}
        for stage, kept in ALONE.items()
        if embeds or "semantic" not in kept
    }
    together: dict[str, SearchOptions] = {
        FUSED: {},
        "fused, vitality off": {"vitality_mode": "off"},
        "fused, vitality multiply": {"vitality_mode": "multiply"},
    }
    reranked: dict[str, SearchOptions] = {"fused, reranked": {"rerank": True, "deadline": PATIENCE}}
    return alone | together | (reranked if reranks else {})


def reranker_in(folder: Path | None) -> Reranker | None:
    """The cross-encoder in the folder, loaded; that of ONNX Runtime where it holds one."""
    if folder is None:
        return None
    onnx = (folder / "model.onnx").is_file()
    made: Reranker = OnnxReranker(folder, pairs=PAIRS) if onnx else LocalReranker(str(folder), pairs=PAIRS)
    warm_up(made)
    return made


def run(path: Path, reranker: Reranker | None, progress: Callable[[str], None]) -> dict[str, Any]:
    """The summary of each stage, and what the reranker gains."""
    settings = load_settings()
    inner = make_embedder(settings)
    embedder = RememberedVectors(inner) if inner else None
    options = stages(embeds=embedder is not None, reranks=reranker is not None)
    scores = {stage: Scores() for stage in options}
    with fresh_database(settings, embedder.dimensions if embedder else 384) as url:
        for conversation in load(path):
            name, questions = conversation["sample_id"], list(questions_of(conversation))
            progress(f"{name}: importing")
            import_conversation(conversation, url, settings, embedder)
            with Memory(url, tenant=name, settings=settings, embedder=embedder, reranker=reranker) as memory:
                for stage, chosen in options.items():
                    progress(f"{name}: {len(questions)} questions, {stage}")
                    ask(memory, questions, chosen, scores[stage])
    gains = {
        stage: gain(scores[stage], scores[FUSED])
        for stage in options
        if stage != FUSED and stage.startswith(FUSED)
    }
    return {
        "stages": {stage: score.summary() for stage, score in scores.items()},
        "paired difference to fused": gains,
    }


def ask(memory: Memory, questions: Sequence[Question], options: SearchOptions, scores: Scores) -> None:
    """Adds what is found for each question. Raises RuntimeError where the reranker was asked and failed."""
    wanted: SearchOptions = {"k": PAIRS, "explain": False, "log": False, **options}
    for question in questions:
        result = memory.search(question.text, **wanted)
        if wanted.get("rerank") and not result.reranked:
            raise RuntimeError(f"Not reranked: {'; '.join(result.skipped)}")
        scores.add(question, [hit.key or "" for hit in result.hits])


def title(settings: Settings, reranker: Reranker | None, note: str) -> str:
    read_by = f"; reranker {reranker.name}" if reranker else "; no reranker"
    said = f" ({note})" if note and reranker else ""
    return (
        f"LoCoMo evidence, categories 1 to 4; embedder {settings.embedder}{read_by}{said}\n"
        "below: published LoCoMo retrieval baselines measured by us, conversations 26, 30, 41, 42, 43"
    )


def difference(gains: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    lines = []
    for stage, figures in gains.items():
        parts = (
            f"{name} {mean:+.3f} ({low:+.3f} to {high:+.3f})" for name, (mean, low, high) in figures.items()
        )
        lines.append(f"{stage}, against {FUSED}: {', '.join(parts)}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--reranker", type=Path, help="the folder of a cross-encoder")
    parser.add_argument("--note", default="", help="what is to be known of the reranker")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    chosen = parser.parse_args(arguments)
    errors = Console(stderr=True)
    reranker = reranker_in(chosen.reranker)
    results = run(chosen.path, reranker, lambda line: errors.print(line, style="dim"))
    if chosen.json:
        named = {"reranker": reranker.name, "note": chosen.note} if reranker else {}
        print(json.dumps({**named, **results}, indent=2))
        return
    screen = Console(width=190)
    screen.print(table(results["stages"], title(load_settings(), reranker, chosen.note)))
    screen.print(difference(results["paired difference to fused"]), highlight=False)


if __name__ == "__main__":
    main()
