"""The data for the stores: memories, questions and vectors, computed once and kept in files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.locomo.data import Question, load, questions_of
from benchmarks.peers.stores import BACKGROUND
from benchmarks.speed.sentences import Vectors, embedded, mixed, sentences
from pgrecall.importers.chat import read_transcript
from pgrecall.nouns.memories.models import Draft
from pgrecall.search.embed.embedder import Embedder

ASKED = 400
"""Sentences that no memory contains; their first ten words are queries."""
SAID = 2_000
"""The number of embedded sentences."""


@dataclass(frozen=True, slots=True)
class Given:
    """A folder of files that every worker reads, and the evidence of the questions."""

    folder: Path
    memories: int
    questions: Sequence[Question | None]
    """The evidence of each question; None if it is unknown."""


def prepare(
    folder: Path, memories: int, conversations: Path | None, embedder: Embedder, cache: Path
) -> Given:
    """Writes the files: so many memories with the turns of the conversations, in random order."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = load(conversations) if conversations else []
    (folder / "conversations.json").write_text(json.dumps(samples), encoding="utf-8")
    turns = _turns(folder / "conversations.json") if samples else []
    spoken = [{"key": turn.key or "", "text": f"{turn.author}: {turn.body}"} for turn in turns]
    known = sentences(SAID, cache)
    vectors = embedded(known, embedder, cache)
    background, made = _background(known[ASKED:], vectors[ASKED:], max(memories - len(spoken), 0))
    rows = spoken + background
    _write(
        folder / "memories.json", [rows[place] for place in np.random.default_rng(5).permutation(len(rows))]
    )
    judged = [question for sample in samples for question in questions_of(sample)]
    asked = [" ".join(text.split()[:10]) for text in known[:ASKED]]
    _write(folder / "questions.json", asked + [question.text for question in judged])
    spoken_texts = [row["text"] for row in spoken] + [turn.body for turn in turns]
    texts = list(dict.fromkeys(spoken_texts + asked + [question.text for question in judged]))
    _write(folder / "texts.json", [row["text"] for row in background] + texts)
    np.save(folder / "vectors.npy", np.concatenate([made, embedded(texts, embedder, cache)]))
    return Given(folder, len(rows), [*([None] * len(asked)), *judged])


def _turns(conversations: Path) -> list[Draft]:
    read = list(read_transcript(conversations, source="bench"))
    return [turn for turn in read if isinstance(turn, Draft)]


def _background(said: Sequence[str], vectors: Vectors, count: int) -> tuple[list[dict[str, str]], Vectors]:
    """Texts of one to three sentences with a number each, and their vectors."""
    dice = np.random.default_rng(7)
    parts = dice.integers(0, len(said), (count, 3))
    parts[np.arange(3) >= dice.integers(1, 4, (count, 1))] = -1
    rows = [
        {
            "key": f"{BACKGROUND}{number}",
            "text": f"{' '.join(said[part] for part in row if part >= 0)} (note {number})",
        }
        for number, row in enumerate(parts.tolist(), start=1)
    ]
    return rows, mixed(vectors, parts, dice)


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
