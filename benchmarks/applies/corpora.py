"""The corpora of the table: files in LoCoMo's format, folders in BEIR's, and our own judged examples.

Each becomes tenants with their memories and questions. Nothing answers a question without evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.beir import Query, read_queries, read_texts
from benchmarks.examples.judged import CORPORA, NOW, Judged, fill, read_judged
from benchmarks.locomo.data import Question, absent_of, corpus_of, import_conversations, load, questions_of
from pgrecall import Memory
from pgrecall.arguments import SearchOptions


@dataclass(frozen=True, slots=True)
class Tenant:
    """The memories of a tenant and what is asked about them.

    ``key_of`` makes what evidence names of the key of a memory: a long note is stored in parts.
    """

    name: str
    fill: Callable[[Memory], None]
    questions: Sequence[Question]
    key_of: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class Collection:
    """The tenants whose questions are one row of the table."""

    name: str
    tenants: Sequence[Tenant]


def collection_of(path: Path, limit: int | None = None) -> Collection:
    """A folder in BEIR's format, or the conversations of a file in LoCoMo's, at most ``limit`` of them."""
    if path.is_dir():
        return _beir(path)
    conversations = load(path)[:limit]
    corpus = corpus_of(path, conversations)
    name = path.name.split(".")[0]
    return Collection(
        name,
        [
            Tenant(
                f"{name}/{conversation['sample_id']}",
                partial(_import, conversation),
                [*questions_of(conversation, corpus), *absent_of(conversation, corpus)],
            )
            for conversation in conversations
        ],
    )


def _import(conversation: dict[str, Any], memory: Memory) -> None:
    import_conversations([conversation], memory)


def _beir(folder: Path, split: str = "test") -> Collection:
    drafts = {draft.key or "": draft for draft in read_texts(folder)}
    queries = read_queries(folder, split, drafts.keys())

    def store(memory: Memory) -> None:
        memory.import_drafts(drafts.values(), source="beir", strict=True)

    return Collection(
        folder.name, [Tenant(folder.name, store, [_of_query(folder.name, query) for query in queries])]
    )


def _of_query(tenant: str, query: Query) -> Question:
    return Question(tenant, query.text, "query", frozenset(query.grades))


def judged_collections() -> Iterator[Collection]:
    """The judged examples, one collection for each file of queries."""
    judged = [one for one in read_judged() if one.query]
    for file, corpora in groupby(CORPORA.values(), lambda corpus: corpus.judged):
        yield Collection(
            f"examples/{file}",
            [
                judged_tenant(corpus.name, [one for one in judged if one.corpus == corpus.name])
                for corpus in corpora
            ],
        )


def judged_tenant(corpus: str, judged: Sequence[Judged]) -> Tenant:
    """The corpus of this name as a tenant, asked these queries."""
    return Tenant(corpus, partial(fill, name=corpus), [_of_judged(one) for one in judged], _whole_note)


def _of_judged(one: Judged) -> Question:
    when: SearchOptions = {} if "as_of" in one.options else {"now": NOW}
    stale = one.outdated | one.stale
    return Question(one.corpus, one.query, one.kind, one.relevant, (), stale, {**when, **one.options})


def _whole_note(key: str) -> str:
    return key.split("#")[0]
