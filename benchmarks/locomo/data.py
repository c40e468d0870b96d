"""LoCoMo's conversations and questions, and what is needed to search them."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgrecall import Memory
from pgrecall.importers.chat import read_transcript
from pgrecall.search.embed.embedder import Embedder, TokenEmbedder, TokenSigns
from pgrecall.settings import Settings

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


@dataclass(frozen=True, slots=True)
class Question:
    tenant: str
    text: str
    category: int
    evidence: frozenset[str]


def load(path: Path) -> list[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        data = json.load(stream)
    return data if isinstance(data, list) else [data]


def questions_of(conversation: dict[str, Any]) -> Iterator[Question]:
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
        self._tokens: dict[tuple[str, int], tuple[list[float], TokenSigns]] = {}

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

    def embed_with_tokens(self, texts: Sequence[str], most: int) -> list[tuple[list[float], TokenSigns]]:
        assert isinstance(self._embedder, TokenEmbedder), "only embedders with tokens are remembered"
        new = [text for text in dict.fromkeys(texts) if (text, most) not in self._tokens]
        for text, made in zip(new, self._embedder.embed_with_tokens(new, most), strict=True):
            self._tokens[text, most] = made
        return [self._tokens[text, most] for text in texts]
