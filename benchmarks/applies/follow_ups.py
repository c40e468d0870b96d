"""What the conversation of a query is worth: follow-ups with and without it, others with a wrong one.

    python -m benchmarks.applies.follow_ups [PATH...] [--no-wrong] [--failures] [--json]

Follow-ups such as "did that work out?" are those of examples/, queries after a turn that names a note too,
and the questions with a `conversation` of each PATH, a file in LoCoMo's format. Each is searched for as it is
and with its conversation. Then the other judged queries of examples/ are searched for as they are and with
the conversation of a follow-up about other people. Vitality is off. --failures lists the follow-ups that are
not among the first five, with what was searched for.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.applies.corpora import Collection, Tenant, collection_of, judged_collections, judged_tenant
from benchmarks.examples.judged import CORPORA, NOTES, read_follow_ups, read_named
from benchmarks.harness import fresh_database, search_by_arms
from benchmarks.intervals import bootstrap_interval
from benchmarks.locomo.data import Question, RememberedVectors
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import load_settings

POOL = 50
"""Hits asked for; MRR reads them all."""


@dataclass
class Pairs:
    """The answers to the same questions without a conversation and with one."""

    found: list[tuple[Question, list[str], list[str]]] = field(default_factory=list)
    searched: list[str | None] = field(default_factory=list)
    """What was searched for instead of each question, because it was completed."""

    def row(self) -> dict[str, Any]:
        """The means of each measure, and the difference by question with its interval."""
        measured = {
            f"recall@{k}": [(one.recall(alone, k), one.recall(told, k)) for one, alone, told in self.found]
            for k in (5, 10)
        }
        measured["mrr"] = [
            (one.reciprocal_rank(alone), one.reciprocal_rank(told)) for one, alone, told in self.found
        ]
        return {
            "questions": len(self.found),
            "completed": sum(text is not None for text in self.searched),
            **{name: _compared(pairs) for name, pairs in measured.items()},
        }

    def failures(self) -> Iterator[dict[str, Any]]:
        for (one, _, told), text in zip(self.found, self.searched, strict=True):
            if not one.evidence & set(told[:5]):
                ranks = [place for place, key in enumerate(told, 1) if key in one.evidence]
                yield {
                    "asked": one.text,
                    "searched": text,
                    "evidence": sorted(one.evidence),
                    "first": told[:5],
                    "rank": min(ranks, default=None),
                }


def _compared(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    differences = [told - alone for alone, told in pairs]
    return {
        "without": fmean(alone for alone, _ in pairs),
        "with": fmean(told for _, told in pairs),
        "difference": fmean(differences),
        "95%": list(bootstrap_interval(differences)),
    }


def follow_ups(paths: Sequence[Path]) -> Iterator[Collection]:
    """The follow-ups of examples/ by language, those after a name, and those of each file."""
    by_language = groupby(read_follow_ups(), lambda one: CORPORA[one.corpus].language)
    for language, judged in by_language:
        corpora = groupby(judged, lambda one: one.corpus)
        yield Collection(
            f"follow-ups, {language}", [judged_tenant(name, list(asked)) for name, asked in corpora]
        )
    yield Collection("after a name, notes", [judged_tenant(NOTES, read_named())])
    for path in paths:
        read = collection_of(path)
        yield Collection(read.name, [_asked(tenant, _has_conversation) for tenant in read.tenants])


def others() -> Iterator[Collection]:
    """The other judged queries that have an answer, each with the conversation of a follow-up elsewhere."""
    for collection in judged_collections():
        yield Collection(
            f"{collection.name}, wrong conversation", [_told_wrongly(tenant) for tenant in collection.tenants]
        )


def _told_wrongly(tenant: Tenant) -> Tenant:
    # Of the same language where there are some: words of another would be told apart too easily.
    language = CORPORA[tenant.name].language
    elsewhere = [one for one in read_follow_ups() if one.corpus != tenant.name]
    fitting = [one for one in elsewhere if CORPORA[one.corpus].language == language] or elsewhere
    turns = cycle(one.options["conversation"] for one in fitting)
    asked = [
        Question(
            one.tenant, one.text, one.category, one.evidence, one.groups, one.stale,
            {**one.options, "conversation": next(turns)},
        )
        for one in tenant.questions
        if one.evidence
    ]  # fmt: skip
    return Tenant(tenant.name, tenant.fill, asked, tenant.key_of)


def _asked(tenant: Tenant, chosen: Callable[[Question], bool]) -> Tenant:
    return Tenant(tenant.name, tenant.fill, list(filter(chosen, tenant.questions)), tenant.key_of)


def _has_conversation(question: Question) -> bool:
    return bool(question.evidence and question.options.get("conversation"))


def ask(memory: Memory, tenant: Tenant, pairs: Pairs) -> None:
    """Searches for each question without its conversation and with it."""
    for question in tenant.questions:
        wanted: SearchOptions = {
            **question.options, "k": POOL, "explain": False, "log": False, "vitality_mode": "off"
        }  # fmt: skip
        told = search_by_arms(memory, question.text, wanted)
        alone = search_by_arms(memory, question.text, {**wanted, "conversation": None})
        without, with_ = ([tenant.key_of(hit.key or "") for hit in one.hits] for one in (alone, told))
        pairs.found.append((question, without, with_))
        pairs.searched.append(told.completed_query)


def run(collections: Sequence[Collection], progress: Callable[[str], None]) -> Iterator[tuple[str, Pairs]]:
    """The answers of each collection. A tenant that occurs in several is stored once."""
    settings = load_settings()
    inner = make_embedder(settings)
    if inner is None:
        raise SystemExit("There is no embedder; set PGRECALL_EMBEDDER.")
    embedder = RememberedVectors(inner)
    stored = set[str]()
    with fresh_database(settings, embedder.dimensions) as url:
        for collection in collections:
            pairs = Pairs()
            for tenant in collection.tenants:
                if not tenant.questions:
                    continue
                progress(f"{collection.name}: {tenant.name}, {len(tenant.questions)} questions")
                with Memory(url, tenant=tenant.name, settings=settings, embedder=embedder) as memory:
                    if tenant.name not in stored:
                        tenant.fill(memory)
                        stored.add(tenant.name)
                    ask(memory, tenant, pairs)
            if pairs.found:
                yield collection.name, pairs


def table(rows: dict[str, dict[str, Any]]) -> Table:
    shown = Table(
        "corpus", "questions", "completed", title="Without the conversation, with it, difference, 95 %"
    )
    measures = ("recall@5", "recall@10", "mrr")
    for name in measures:
        shown.add_column(name)
    for corpus, row in rows.items():
        cells = (
            f"{one['without']:.3f}, {one['with']:.3f}, {one['difference']:+.3f} "
            f"({one['95%'][0]:+.3f} to {one['95%'][1]:+.3f})"
            for one in (row[name] for name in measures)
        )
        shown.add_row(corpus, str(row["questions"]), str(row["completed"]), *cells)
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", type=Path, nargs="*", metavar="PATH")
    parser.add_argument("--no-wrong", action="store_true", help="leave out the wrong conversations")
    parser.add_argument("--failures", action="store_true", help="list the follow-ups that are not found")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    chosen = parser.parse_args(arguments)
    errors = Console(stderr=True)
    collections = [*follow_ups(chosen.paths), *(() if chosen.no_wrong else others())]
    found = dict(run(collections, lambda line: errors.print(line, style="dim")))
    rows = {name: pairs.row() for name, pairs in found.items()}
    if chosen.json:
        print(json.dumps(rows, indent=2))
    else:
        Console(width=200).print(table(rows))
    if chosen.failures:
        for name, pairs in found.items():
            if "wrong" not in name:
                for one in pairs.failures():
                    print(json.dumps({"corpus": name, **one}, ensure_ascii=False))


if __name__ == "__main__":
    main()
