"""Questions with the texts to rerank."""

from __future__ import annotations

import gzip
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgrecall.search.rerank.scores import RerankCandidate

PAIRS = 50

_SUBJECTS = ("Mira", "Tomas", "the harbour office", "our landlord", "the old server", "Ana", "a neighbour")
_VERBS = ("signed", "moved", "forgot", "repaired", "sold", "found", "promised", "cancelled", "painted")
_OBJECTS = ("the contract", "the clock", "twelve boxes of tiles", "the backup", "a tent", "the second key")
_TIMES = ("on Friday", "last March", "before the storm", "at noon", "twice this year", "during the audit")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its candidates, in the order of a search without a reranker."""

    question: str
    candidates: tuple[RerankCandidate, ...]


def invented(count: int, pairs: int = PAIRS, seed: int = 7) -> list[Asked]:
    """Invented questions about an invented chat, the same at every call. The texts are as long as those of
    chats: most are short, a few several times as long."""
    random_ = random.Random(seed)

    def clause() -> str:
        return " ".join(map(random_.choice, (_SUBJECTS, _VERBS, _OBJECTS, _TIMES)))

    def text() -> str:
        clauses = min(12, max(1, round(random_.lognormvariate(0.9, 0.7))))
        return ". ".join(clause() for _ in range(clauses)) + "."

    def question() -> str:
        return "When was it that " + " ".join(map(random_.choice, (_SUBJECTS, _VERBS, _OBJECTS))) + "?"

    return [_ordered(question(), [text() for _ in range(4 * pairs)], pairs) for _ in range(count)]


def of_conversations(path: Path, count: int, pairs: int = PAIRS, seed: int = 7) -> list[Asked]:
    """Questions of categories 1 to 4 of the public LoCoMo JSON, each with the turns of its conversation that
    share the most words with it."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        data = json.load(stream)
    asked = [found for conversation in data for found in _questions(conversation)]
    chosen = random.Random(seed).sample(asked, min(count, len(asked)))
    return [_ordered(question, turns, pairs) for question, turns in chosen]


def _questions(conversation: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    sessions = [value for value in conversation["conversation"].values() if isinstance(value, list)]
    turns = [_said(turn) for session in sessions for turn in session]
    for entry in conversation["qa"]:
        if entry["category"] in (1, 2, 3, 4):
            yield entry["question"], turns


def _said(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn.get('text') or ''}" + (f" [image: {caption}]" if caption else "")


def _ordered(question: str, texts: list[str], pairs: int) -> Asked:
    """The ``pairs`` texts with the rarest words of the question."""
    words = [set(re.findall(r"\w+", text.lower())) for text in texts]
    known = Counter(word for found in words for word in found)
    asked = set(re.findall(r"\w+", question.lower()))
    worth = [sum(math.log(len(texts) / known[word]) for word in found & asked) for found in words]
    best = sorted(range(len(texts)), key=lambda place: -worth[place])[:pairs]
    return Asked(question, tuple(RerankCandidate(place, texts[place]) for place in best))
