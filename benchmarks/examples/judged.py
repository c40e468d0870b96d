"""The judged queries of examples/: the memories they ask about, what they ask, and what answers them.

The format of a line is told in examples/README.md. `fill` gives a tenant a corpus, `ask` puts a question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from benchmarks.examples.answers import Answer
from benchmarks.harness import search_by_arms
from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.importers.detect import open_source
from pgrecall.importers.jsonl import read_accesses
from pgrecall.importers.markdown.reader import read_markdown
from pgrecall.nouns.imports.report import Problem
from pgrecall.nouns.memories.models import Access, Draft

EXAMPLES = Path(__file__).parents[2] / "examples"
NOW = datetime(2026, 11, 1, tzinfo=UTC)
"""When the questions are asked: the day after the story ends."""

MIN_CONFIDENCE = 0.2
"""Below this confidence a search says that nothing answers: the default of search.min_confidence."""

WHOLE = 20_000
"""Characters of the longest note that is kept whole where a corpus keeps notes whole."""

POOL = 50
"""Hits asked for: the first ten are those that a search for ten would show."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A set of memories and the queries over it, as paths under examples/.

    ``memories`` is a folder of notes or a file that an importer reads; of a file with several chats, the
    corpus is the chat of its name. Queries without ``sample_id`` belong to the first corpus with their file.
    ``whole`` keeps long notes in one memory. What is not ``fitted`` is measured, but nothing is fitted on it:
    MiniLM reads little but English, and fitted on other languages its similarity would count for too little.
    """

    name: str
    memories: str
    judged: str
    language: str = "english"
    whole: bool = False
    fitted: bool = True

    @property
    def prefix(self) -> str:
        """What its keys begin with and its judged keys leave out: the name of a chat."""
        return f"{self.name}/" if self.memories.endswith(".json") else ""


def _chats(name: str, samples: int, language: str) -> Iterator[Corpus]:
    """Each chat of a file as a corpus, ``name-1`` and on; only the English ones are fitted."""
    for number in range(1, samples + 1):
        yield Corpus(
            f"{name}-{number}",
            f"{name}.json",
            f"judged/{name}.jsonl",
            language,
            fitted=language == "english",
        )


NOTES = "vault"
CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus(NOTES, "vault", "judged/vault.jsonl"),
        Corpus("harbor-1", "chat.json", "judged/chat.jsonl"),
        Corpus("harbor-2", "chat.json", "judged/chat.jsonl"),
        Corpus("assistant-1", "assistant.json", "judged/assistant.jsonl"),
        Corpus("assistant-2", "assistant.json", "judged/assistant.jsonl"),
        Corpus("club-1", "club.json", "judged/club.jsonl"),
        Corpus("handbook", "handbook", "judged/handbook.jsonl", whole=True),
        Corpus("diary-de", "diary-de", "judged/diary-de.jsonl", "german", fitted=False),
        Corpus("diary-es", "diary-es.json", "judged/diary-es.jsonl", "spanish", fitted=False),
        Corpus("diary-ja", "diary-ja.jsonl", "judged/diary-ja.jsonl", "simple", fitted=False),
        Corpus("diary-zh", "diary-zh.jsonl", "judged/diary-zh.jsonl", "simple", fitted=False),
        *_chats("applies-en", 8, "english"),
        *_chats("applies-de", 3, "german"),
        *_chats("applies-es", 3, "spanish"),
    )
}

_LISTS = ("queries", "roles", "authors", "layers", "tags", "hints", "conversation")
_FIELDS = frozenset(
    {"id", "sample_id", "query", "asked", "relevant", "outdated", "kind", "since", "until", "as_of", "cues"}
).union(_LISTS, {"stale"})


@dataclass(frozen=True, slots=True)
class Judged:
    """A question, how it is asked, and the keys that answer it: none when nothing does.

    ``outdated`` are keys of what once answered it and no longer does: notes that a link replaces or whose
    time has run out. ``stale`` are turns that a later turn of the chat replaces, which only their words tell.
    ``options`` are those of a search.
    """

    id: str
    kind: str
    corpus: str
    query: str
    relevant: frozenset[str]
    outdated: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()
    options: SearchOptions = field(default_factory=SearchOptions)


@dataclass(frozen=True, slots=True)
class JudgedLink:
    """That a note replaces another (``supersedes``) or disagrees with it (``contradicts``), and when."""

    source: str
    relation: str
    target: str
    at: datetime
    corpus: str = NOTES


def read_judged() -> tuple[Judged, ...]:
    """All judged queries, in the order of the corpora. Raises ValueError for an unknown field."""
    files: dict[str, str] = {}
    for corpus in CORPORA.values():
        files.setdefault(corpus.judged, corpus.name)
    return tuple(_judged(entry, first) for file, first in files.items() for entry in _lines(EXAMPLES / file))


def read_follow_ups() -> tuple[Judged, ...]:
    """Queries that make sense only with the turns before them, which are their ``conversation``."""
    return tuple(_judged(entry, "") for entry in _lines(EXAMPLES / "judged" / "follow-ups.jsonl"))


def read_named() -> tuple[Judged, ...]:
    """Queries over the notes after a turn that names what they are about."""
    return tuple(_judged(entry, "") for entry in _lines(EXAMPLES / "judged" / "named.jsonl"))


def read_links() -> tuple[JudgedLink, ...]:
    return tuple(
        JudgedLink(
            entry["source"], entry["relation"], entry["target"], _day(entry["at"]), entry.get("corpus", NOTES)
        )
        for entry in _lines(EXAMPLES / "links.jsonl")
    )


def read_memories(corpus: Corpus) -> Iterator[Draft | Problem]:
    """The memories of a corpus, as its importer reads them."""
    path = EXAMPLES / corpus.memories
    reads = read_markdown(path, source=corpus.name, split_at=WHOLE) if corpus.whole else open_source(path)
    for read in reads:
        if isinstance(read, Problem) or (
            isinstance(read, Draft) and (read.key or "").startswith(corpus.prefix)
        ):
            yield read


def fill(memory: Memory, name: str) -> None:
    """Imports a corpus into the tenant of ``memory``, with its links; the vault with its accesses."""
    memory.settings.set_language(CORPORA[name].language)
    memory.import_drafts(read_memories(CORPORA[name]), source=name, strict=True)
    if name == NOTES:
        uses = [use for use in read_accesses(EXAMPLES / "accesses.jsonl") if isinstance(use, Access)]
        memory.record_accesses(uses, now=NOW)
    for link in read_links():
        if link.corpus != name:
            continue
        if link.relation == "supersedes":
            memory.supersede(link.target, link.source, now=link.at)
        else:
            memory.link(link.source, link.target, link.relation, now=link.at)
    memory.maintenance.refresh_statistics(now=NOW)


def ask(memory: Memory, judged: Judged, **more: Any) -> Answer:
    """What a search finds, at most ten, and its confidence.

    A long note is stored in parts, ``note#heading``; a part counts as its note. ``more`` goes before the
    options of the question.
    """
    when = {} if "as_of" in judged.options else {"now": NOW}
    options = {**when, "k": POOL, "explain": False, "log": False, **judged.options, **more}
    result = search_by_arms(memory, judged.query, cast(SearchOptions, options))
    return Answer(
        judged.kind,
        judged.relevant,
        judged.outdated | judged.stale,
        tuple((hit.key or "").split("#")[0] for hit in result.hits[:10]),
        result.confidence,
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def _judged(entry: Mapping[str, Any], first: str) -> Judged:
    if unknown := entry.keys() - _FIELDS:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"The judged query {entry['id']} has fields nobody knows: {names}.")
    corpus = entry.get("sample_id", first)
    prefix = CORPORA[corpus].prefix
    options: dict[str, Any] = {name: tuple(entry[name]) for name in _LISTS if name in entry}
    if "cues" in entry:
        options["cues"] = tuple(prefix + key for key in entry["cues"])
    options |= {name: _day(entry[name]) for name in ("since", "as_of") if name in entry}
    if "until" in entry:
        options["until"] = _day(entry["until"]) + timedelta(days=1)
    return Judged(
        entry["id"],
        entry["kind"],
        corpus,
        entry["query"],
        frozenset(prefix + key for key in entry["relevant"]),
        frozenset(prefix + key for key in entry.get("outdated", ())),
        frozenset(prefix + key for key in entry.get("stale", ())),
        cast(SearchOptions, options),
    )


def _day(date: str) -> datetime:
    return datetime.fromisoformat(date).replace(tzinfo=UTC)
