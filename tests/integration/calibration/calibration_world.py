"""A small world with judged questions: each asks with two words for the one note that has both."""

from __future__ import annotations

import json
from pathlib import Path

from pgrecall import Memory
from pgrecall.nouns.calibration.models import JudgedQuery, Judgement
from pgrecall.nouns.memories.models import Draft
from pgrecall.nouns.search.models import SearchRequest

TOPICS = 40
_FIRST = ("anchor", "barrel", "candle", "dinghy", "engine", "ferry", "garnet", "harbour")
_SECOND = ("amber", "brittle", "crimson", "dusty", "emerald")


def words(topic: int) -> tuple[str, str]:
    return _SECOND[topic % len(_SECOND)], _FIRST[topic // len(_SECOND)]


def notes() -> list[tuple[str, str]]:
    """Keys and bodies: forty with a pair of words each, and eighty that share a word with some of them."""
    made = []
    for topic in range(TOPICS):
        colour, thing = words(topic)
        made.append((f"topic/{topic}", f"The {colour} {thing} was seen at the quay on day {topic}"))
        made.append((f"thing/{topic}", f"Nobody paints a {thing} twice, says list {topic}"))
        made.append((f"colour/{topic}", f"A very {colour} evening number {topic} over the bay"))
    return made


def fill(memory: Memory) -> None:
    memory.remember_many([Draft(body, key=key) for key, body in notes()])
    memory.maintenance.refresh_statistics()


def question(topic: int) -> str:
    return f"where is the {' '.join(words(topic))}"


def judged(topics: int = TOPICS) -> list[JudgedQuery]:
    """A question a topic, and what answers it."""
    return [
        JudgedQuery(SearchRequest(question(topic)), (Judgement(f"topic/{topic}", True),))
        for topic in range(topics)
    ]


def write_qrels(file: Path, topics: int = TOPICS) -> Path:
    """The same as lines of JSON."""
    lines = [{"query": question(topic), "relevant": [f"topic/{topic}"]} for topic in range(topics)]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return file
