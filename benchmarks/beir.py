"""Recall, MRR and nDCG on judged texts in BEIR's format.

    python -m benchmarks.beir FOLDER... [--split test] [--language NAME] [--json]

A folder has corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels/SPLIT.tsv (query-id,
corpus-id, score). Queries without a relevant text do not count. Every folder is a tenant of its own, with a
memory for each text; --language is the language of its words.

Each arm alone (the others have weight 0), then all of them. Then the difference between all and the better of
words and meaning, on the same queries.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness import fresh_database
from benchmarks.intervals import bootstrap_interval
from benchmarks.locomo.data import RememberedVectors
from benchmarks.locomo.stages import ARMS_ALONE, FUSED, stages
from pgrecall import Draft, Memory
from pgrecall.arguments import SearchOptions
from pgrecall.search.embed.factory import make_embedder
from pgrecall.search.embed.passages import MAX_CHARACTERS
from pgrecall.settings import load_settings

TOP = 10
MEASURES = ("nDCG@10", "recall@10", "MRR")


@dataclass(frozen=True, slots=True)
class Query:
    """A query with the grades of its relevant texts, all above 0."""

    text: str
    grades: Mapping[str, int]

    def measures(self, found: Sequence[str]) -> dict[str, float]:
        """The measures of these texts, best first."""
        first = next((rank for rank, text in enumerate(found, 1) if text in self.grades), None)
        ideal = _gain(sorted(self.grades.values(), reverse=True)[:TOP])
        return {
            "nDCG@10": _gain([self.grades.get(text, 0) for text in found[:TOP]]) / ideal,
            "recall@10": len(self.grades.keys() & set(found[:TOP])) / len(self.grades),
            "MRR": 1 / first if first else 0.0,
        }


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def read_texts(folder: Path) -> Iterator[Draft]:
    """A draft for each text, with its ``_id`` as the key. Texts without a character are left out."""
    for text in _lines(folder / "corpus.jsonl"):
        title, body = (text.get("title") or "").strip(), text["text"].strip()[:MAX_CHARACTERS]
        if body or title:
            yield Draft(body or title, title=title[:500], key=text["_id"])


def read_queries(folder: Path, split: str, texts: Collection[str]) -> list[Query]:
    """The queries that one of these texts answers."""
    grades: dict[str, dict[str, int]] = {}
    with (folder / "qrels" / f"{split}.tsv").open(encoding="utf-8", newline="") as stream:
        for query, text, score in list(csv.reader(stream, delimiter="\t"))[1:]:
            if int(score) > 0 and text in texts:
                grades.setdefault(query, {})[text] = int(score)
    judged = (query for query in _lines(folder / "queries.jsonl") if query["_id"] in grades)
    return [Query(query["text"], grades[query["_id"]]) for query in judged]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        yield from (json.loads(line) for line in stream if line.strip())


def run(folder: Path, split: str, language: str | None) -> dict[str, Any]:
    """The measures of each stage, and how much better all arms are than the better one alone."""
    settings = load_settings()
    inner = make_embedder(settings)
    if inner is None:
        raise SystemExit("There is no embedder; set PGRECALL_EMBEDDER.")
    embedder = RememberedVectors(inner)
    drafts = {draft.key or "": draft for draft in read_texts(folder)}
    queries = read_queries(folder, split, drafts.keys())
    if not queries:
        raise SystemExit(f"{folder} has no query with a relevant text in the split {split}.")
    found: dict[str, list[dict[str, float]]] = {}
    with (
        fresh_database(settings, embedder.dimensions) as url,
        Memory(url, tenant=folder.name, settings=settings, embedder=embedder) as memory,
    ):
        if language is not None:
            memory.settings.set_language(language)
        memory.import_drafts(drafts.values(), source="beir", strict=True)
        for stage, options in stages(embeds=True, reranks=False).items():
            wanted: SearchOptions = {"k": 50, "explain": False, "log": False, **options}
            found[stage] = [
                query.measures([hit.key or "" for hit in memory.search(query.text, **wanted).hits])
                for query in queries
            ]
    return {
        "corpus": folder.name,
        "texts": len(drafts),
        "queries": len(queries),
        "stages": {stage: {name: _mean(one, name) for name in MEASURES} for stage, one in found.items()},
        "all arms over the better one": {name: _lead(found, name) for name in MEASURES},
    }


def _mean(measured: Sequence[Mapping[str, float]], name: str) -> float:
    return fmean(one[name] for one in measured)


def _lead(found: Mapping[str, Sequence[Mapping[str, float]]], name: str) -> dict[str, Any]:
    best = max(ARMS_ALONE, key=lambda stage: _mean(found[stage], name))
    differences = [all_[name] - one[name] for all_, one in zip(found[FUSED], found[best], strict=True)]
    low, high = bootstrap_interval(differences)
    return {"arm": best, "difference": fmean(differences), "95%": [low, high], "ok": high >= 0}


def table(document: Mapping[str, Any]) -> Table:
    """A row for each stage, and one for the difference to the better arm."""
    title = f"{document['corpus']}: {document['texts']:,} texts, {document['queries']} queries"
    shown = Table("", *MEASURES, title=title)
    for stage, figures in document["stages"].items():
        shown.add_row(stage, *(f"{figures[name]:.3f}" for name in MEASURES))
    shown.add_section()
    leads = (document["all arms over the better one"][name] for name in MEASURES)
    shown.add_row(
        "all arms over the better one",
        *(f"{lead['difference']:+.3f} ({lead['95%'][0]:+.2f} to {lead['95%'][1]:+.2f})" for lead in leads),
    )
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--split", default="test", help="name of the file in qrels/")
    parser.add_argument("--language", help="language of the words, for example arabic")
    parser.add_argument("--json", action="store_true", help="print a JSON list, one document for each folder")
    chosen = parser.parse_args(arguments)
    screen, documents = Console(width=120), []
    for folder in chosen.folders:
        documents.append(run(folder, chosen.split, chosen.language))
        if not chosen.json:
            screen.print(table(documents[-1]))
    if chosen.json:
        print(json.dumps(documents, indent=2))


if __name__ == "__main__":
    main()
