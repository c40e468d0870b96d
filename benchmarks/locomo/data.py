"""Conversations and questions in LoCoMo's format.

Beyond LoCoMo's own fields a question may have ``kind`` (the name of its category), ``asked_at`` (the time of
the search, as LoCoMo writes times), ``conversation`` (the turns before it), ``stale`` (turns that a turn of
the evidence replaces) and ``evidence_groups`` (lists of turns, of each of which one is enough).
"""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pgrecall import Memory
from pgrecall.arguments import SearchOptions
from pgrecall.importers.chat import read_transcript, role_of
from pgrecall.importers.dates import parse_spoken
from pgrecall.nouns.embedding import Embedded, TokenSigns
from pgrecall.search.embed.embedder import Embedder, embed_with_tokens, for_queries
from pgrecall.search.embed.passages import WINDOW, counts_pieces, estimated_ends


@dataclass(frozen=True, slots=True)
class Corpus:
    """A collection of judged conversations; ``categories`` are those that count.

    Questions with a kind always count.
    """

    name: str
    categories: Mapping[int, str] = field(default_factory=dict)


LOCOMO = Corpus("LoCoMo", {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"})
"""Category 5 does not count: its questions have no answer."""
BEAM = Corpus(
    "BEAM",
    {
        1: "multi-session",
        2: "temporal",
        3: "update, contradiction",
        4: "extraction",
        5: "instruction",
        6: "preference",
    },
)
FACTS = Corpus("FactConsolidation", {3: "newest of two"})
_NAMED = {"beam": BEAM, "fact": FACTS}
"""Corpora whose files or samples begin with this."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the keys of its evidence; without evidence, nothing answers it.

    ``groups`` are sets of evidence of each of which one is enough; without them every turn of the evidence
    counts. ``stale`` are turns that the evidence replaces. ``options`` are those of the search.
    """

    tenant: str
    text: str
    category: str
    evidence: frozenset[str]
    groups: tuple[frozenset[str], ...] = ()
    stale: frozenset[str] = frozenset()
    options: SearchOptions = field(default_factory=SearchOptions)

    def recall(self, found: Sequence[str], k: int) -> float:
        """The share of the evidence, or of its groups, that is among the first k."""
        first = frozenset(found[:k])
        parts = self.groups or tuple(frozenset({key}) for key in self.evidence)
        return sum(bool(part & first) for part in parts) / len(parts)

    def reciprocal_rank(self, found: Sequence[str]) -> float:
        """1 / rank of the first turn of the evidence; 0 without one."""
        return next((1 / rank for rank, key in enumerate(found, 1) if key in self.evidence), 0.0)

    def newer_first(self, found: Sequence[str]) -> bool:
        """Whether the evidence is found, and before everything stale."""
        places = {key: place for place, key in reversed(list(enumerate(found)))}
        newest = min((places[key] for key in self.evidence if key in places), default=len(found))
        return newest < min((places[key] for key in self.stale if key in places), default=len(found))


@dataclass(frozen=True, slots=True)
class Turn:
    """What evidence is grouped by: the speaker's role, if it has one, and the length in characters."""

    role: str | None
    length: int


def load(path: Path) -> list[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        data = json.load(stream)
    return data if isinstance(data, list) else [data]


def corpus_of(path: Path, conversations: Sequence[Mapping[str, Any]]) -> Corpus:
    """The corpus that the file or a sample is named after, else LoCoMo.

    A file whose questions have kinds is a corpus of its own.
    """
    names = [path.name, *(conversation["sample_id"] for conversation in conversations)]
    for start, corpus in _NAMED.items():
        if any(name.casefold().startswith(start) for name in names):
            return corpus
    kinds = any("kind" in entry for conversation in conversations for entry in conversation["qa"])
    return Corpus(path.name.split(".")[0]) if kinds else LOCOMO


def turns_of(conversation: Mapping[str, Any]) -> dict[str, Turn]:
    """The turns by the key of their memory."""
    sessions = [value for value in conversation["conversation"].values() if isinstance(value, list)]
    return {
        f"{conversation['sample_id']}/{turn['dia_id']}": Turn(
            role_of(turn["speaker"]), len(turn.get("text") or "")
        )
        for session in sessions
        for turn in session
    }


def questions_of(conversation: Mapping[str, Any], corpus: Corpus | None = None) -> Iterator[Question]:
    """The questions with a kind or in a category of the corpus that have evidence in a turn that exists."""
    return (question for _, question in _read(conversation, corpus) if question.evidence)


def absent_of(conversation: Mapping[str, Any], corpus: Corpus | None = None) -> Iterator[Question]:
    """The questions that nothing answers: those with a kind that cite no turn."""
    return (
        question
        for entry, question in _read(conversation, corpus)
        if "kind" in entry and not entry.get("evidence")
    )


def _read(
    conversation: Mapping[str, Any], corpus: Corpus | None
) -> Iterator[tuple[Mapping[str, Any], Question]]:
    name, turns = conversation["sample_id"], turns_of(conversation)
    chosen = corpus or corpus_of(Path(name), [conversation])
    for entry in conversation["qa"]:
        category = entry.get("kind") or chosen.categories.get(entry["category"])
        if category is None:
            continue
        groups = (_cited(name, group) & turns.keys() for group in entry.get("evidence_groups", ()))
        options: SearchOptions = {}
        if entry.get("asked_at"):
            options["now"] = parse_spoken(entry["asked_at"])
        if entry.get("conversation"):
            options["conversation"] = entry["conversation"]
        question = Question(
            name,
            entry["question"],
            category,
            frozenset(_cited(name, entry.get("evidence", ())) & turns.keys()),
            tuple(frozenset(group) for group in groups if group),
            frozenset(_cited(name, entry.get("stale", ())) & turns.keys()),
            options,
        )
        yield entry, question


def _cited(name: str, texts: Sequence[str]) -> set[str]:
    """The keys of the turns that these texts name; one of LoCoMo's may name several."""
    return {
        f"{name}/D{session}:{turn}"
        for text in texts
        for session, turn in re.findall(r"D:?(\d+):0*(\d+)", text)
    }


def import_conversations(conversations: Sequence[Mapping[str, Any]], memory: Memory) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.json"
        path.write_text(json.dumps(conversations), encoding="utf-8")
        memory.import_drafts(read_transcript(path, source="locomo"), source="locomo", strict=True)


class RememberedVectors:
    """Embeds each text once: the stages ask the same questions."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, list[float]] = {}
        self._tokens: dict[tuple[str, int], Embedded] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @cached_property
    def for_queries(self) -> Embedder:
        inner = for_queries(self._embedder)
        return self if inner is self._embedder else RememberedVectors(inner)

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens if counts_pieces(self._embedder) else WINDOW

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        if counts_pieces(self._embedder):
            return self._embedder.token_spans(text)
        return [(end, end) for end in estimated_ends(text)]  # the ends alone are read

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return [self._known[text] for text in texts]

    def embed_with_tokens(
        self, texts: Sequence[str], max_signs: int
    ) -> list[tuple[list[float], TokenSigns | None]]:
        new = [text for text in dict.fromkeys(texts) if (text, max_signs) not in self._tokens]
        for text, made in zip(new, embed_with_tokens(self._embedder, new, max_signs), strict=True):
            self._tokens[text, max_signs] = made
        return [(known.vector, known.tokens) for known in (self._tokens[text, max_signs] for text in texts)]
