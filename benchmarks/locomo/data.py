"""Conversations and questions in LoCoMo's format."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgrecall import Memory
from pgrecall.importers.chat import read_transcript, role_of
from pgrecall.models.embedding import TokenSigns
from pgrecall.search.embed.embedder import Embedder, TokenEmbedder
from pgrecall.search.embed.passages import WINDOW, counts_pieces, estimated_ends


@dataclass(frozen=True, slots=True)
class Corpus:
    """A collection of judged conversations in LoCoMo's format; ``categories`` are those that count."""

    name: str
    categories: Mapping[int, str]


LOCOMO = Corpus("LoCoMo", {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"})
"""Category 5 does not count: its questions have no answer."""
BEAM = Corpus("BEAM", {1: "multi-session", 2: "temporal", 3: "update, contradiction", 4: "extraction"})


@dataclass(frozen=True, slots=True)
class Question:
    tenant: str
    text: str
    category: int
    evidence: frozenset[str]


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
    """BEAM if the file or its conversations are named so, else LoCoMo."""
    names = [path.name, *(conversation["sample_id"] for conversation in conversations)]
    return BEAM if any(name.casefold().startswith("beam") for name in names) else LOCOMO


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


def questions_of(conversation: Mapping[str, Any]) -> Iterator[Question]:
    """Questions of categories 1 to 4 with evidence in at least one turn that exists."""
    name, turns = conversation["sample_id"], turns_of(conversation)
    for entry in conversation["qa"]:
        cited = {
            f"{name}/D{session}:{turn}"
            for text in entry.get("evidence", ())
            for session, turn in re.findall(r"D:?(\d+):0*(\d+)", text)
        }
        if entry["category"] in LOCOMO.categories and cited & turns.keys():
            yield Question(name, entry["question"], entry["category"], frozenset(cited & turns.keys()))


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
        self._tokens: dict[tuple[str, int], tuple[list[float], TokenSigns]] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

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

    def embed_with_tokens(self, texts: Sequence[str], max_signs: int) -> list[tuple[list[float], TokenSigns]]:
        assert isinstance(self._embedder, TokenEmbedder), "only embedders with tokens are remembered"
        new = [text for text in dict.fromkeys(texts) if (text, max_signs) not in self._tokens]
        for text, made in zip(new, self._embedder.embed_with_tokens(new, max_signs), strict=True):
            self._tokens[text, max_signs] = made
        return [self._tokens[text, max_signs] for text in texts]
