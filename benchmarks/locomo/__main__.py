"""Recall and MRR of the evidence turns of judged conversations: LoCoMo, or others in LoCoMo's format.

    python -m benchmarks.locomo FILE... [--pooled] [--reranker FOLDER] [--note TEXT] [--json]

A file is a JSON list of conversations and may be gzipped. Every conversation is a tenant of its own, as in
the published baselines; with --pooled all of a file are in one tenant. A question's category is its kind, or
else a number: BEAM's if the name of the file or of a sample begins with "beam", FactConsolidation's with
"fact". LoCoMo's category 5 (questions without an answer) and evidence that names no turn do not count. Of
evidence in groups, one turn of each is enough. "newer first" is the share of the questions with a stale turn
that find its replacement before it.

Stages: each arm alone (the others have weight 0), all of them, all of them without vitality, and with
--reranker all of them and then a cross-encoder on the best 50. FOLDER contains one for sentence-transformers
or for ONNX Runtime. --note is printed with its name: use it if the model was trained on these conversations.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.harness import fresh_database
from benchmarks.locomo.data import (
    Question,
    RememberedVectors,
    corpus_of,
    import_conversations,
    load,
    questions_of,
    turns_of,
)
from benchmarks.locomo.scores import Scores, gain, tables, verdict
from benchmarks.locomo.stages import ARMS_ALONE, FUSED, stages
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.search.embed.factory import make_embedder
from pgrecall.search.rerank.local import LocalReranker
from pgrecall.search.rerank.onnx import OnnxReranker
from pgrecall.search.rerank.reranker import Reranker, warm_up
from pgrecall.settings import load_settings

PAIRS = 50


def reranker_in(folder: Path | None) -> Reranker | None:
    """The loaded cross-encoder of the folder; through ONNX Runtime if there is a ``model.onnx``."""
    if folder is None:
        return None
    onnx = (folder / "model.onnx").is_file()
    made: Reranker = OnnxReranker(folder, pairs=PAIRS) if onnx else LocalReranker(str(folder), pairs=PAIRS)
    warm_up(made)
    return made


def run(
    path: Path, reranker: Reranker | None, progress: Callable[[str], None], *, pooled: bool = False
) -> dict[str, Any]:
    """The summary of each stage, the comparison with the best arm, and the differences to fused."""
    settings = load_settings()
    inner = make_embedder(settings)
    embedder = RememberedVectors(inner) if inner else None
    options = stages(embeds=embedder is not None, reranks=reranker is not None)
    scores = {stage: Scores() for stage in options}
    conversations = load(path)
    corpus = corpus_of(path, conversations)
    tenants = {"pooled": conversations} if pooled else {one["sample_id"]: [one] for one in conversations}
    with fresh_database(settings, embedder.dimensions if embedder else 384) as url:
        for tenant, samples in tenants.items():
            questions = [question for sample in samples for question in questions_of(sample, corpus)]
            with Memory(
                url, tenant=tenant, settings=settings, embedder=embedder, reranker=reranker
            ) as memory:
                progress(f"{tenant}: importing")
                import_conversations(samples, memory)
                for stage, chosen in options.items():
                    progress(f"{tenant}: {len(questions)} questions, {stage}")
                    ask(memory, questions, chosen, scores[stage])
    turns = {key: turn for conversation in conversations for key, turn in turns_of(conversation).items()}
    return {
        "corpus": corpus.name,
        "pooled": pooled,
        "stages": {stage: score.summary(corpus, turns) for stage, score in scores.items()},
        "fused against the best arm": verdict(scores, FUSED, [arm for arm in ARMS_ALONE if arm in scores]),
        "paired difference to fused": {
            stage: gain(score, scores[FUSED]) for stage, score in scores.items() if stage != FUSED
        },
    }


def ask(memory: Memory, questions: Sequence[Question], options: SearchOptions, scores: Scores) -> None:
    """Searches for each question. Raises RuntimeError if the reranker failed."""
    for question in questions:
        wanted: SearchOptions = {
            "k": PAIRS,
            "explain": False,
            "log": False,
            **question.options,
            **options,
        }
        result = memory.search(question.text, **wanted)
        if wanted.get("rerank") and not result.reranked:
            raise RuntimeError(f"Not reranked: {'; '.join(result.skipped)}")
        scores.add(question, [hit.key or "" for hit in result.hits])


def title(results: Mapping[str, Any], path: Path, reranker: Reranker | None, note: str) -> str:
    parts = (
        f"{results['corpus']}: {path.name}, {results['stages'][FUSED]['questions']} questions",
        "all conversations in one tenant" if results["pooled"] else "a tenant for each conversation",
        f"embedder {load_settings().embedder}",
        f"reranker {reranker.name}{f' ({note})' if note else ''}" if reranker else "no reranker",
    )
    return "; ".join(parts)


def comparison(results: Mapping[str, Any]) -> str:
    """A line for each measure against the best arm, and the other stages against fused."""
    lines = [
        f"{name}: fused is {'at least as good as' if one['ok'] else 'WORSE than'} {one['best arm']}: "
        f"{_signed([one['difference'], *one['95%']])}"
        for name, one in results["fused against the best arm"].items()
    ]
    for stage, figures in results["paired difference to fused"].items():
        parts = (f"{name} {_signed(figure)}" for name, figure in figures.items())
        lines.append(f"{stage} against {FUSED}: {', '.join(parts)}")
    return "\n".join(lines)


def _signed(figure: Sequence[float]) -> str:
    mean, low, high = figure
    return f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--pooled", action="store_true", help="put all conversations of a file in one tenant")
    parser.add_argument("--reranker", type=Path, help="folder of a cross-encoder")
    parser.add_argument("--note", default="", help="remark on the reranker, printed with its name")
    parser.add_argument("--json", action="store_true", help="print a JSON list, one document for each file")
    chosen = parser.parse_args(arguments)
    errors, screen = Console(stderr=True), Console(width=190)
    reranker = reranker_in(chosen.reranker)
    named = {"reranker": reranker.name, "note": chosen.note} if reranker else {}
    documents = []
    for path in chosen.paths:
        results = run(path, reranker, lambda line: errors.print(line, style="dim"), pooled=chosen.pooled)
        documents.append({"file": path.name, **named, **results})
        if not chosen.json:
            corpus = corpus_of(path, load(path))
            screen.print(*tables(results["stages"], corpus, title(results, path, reranker, chosen.note)))
            screen.print(comparison(results), highlight=False)
    if chosen.json:
        print(json.dumps(documents, indent=2))


if __name__ == "__main__":
    main()
