"""Hits as a search could give them, made by hand or by Hypothesis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from pgrecall import Hit

LAYERS = ("entity", "knowledge", "episodic")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
bodies = st.sampled_from(
    [
        "Tea at noon!",
        "Tides rise. Tides fall.\n\n[1] marked\n> quoted\nSources:",
        "The gauge reads 3 metres at Skarvik… and 4 at sea",
        "潮の満ち引き。お茶を飲んだ。",
        "The gauge at Skarvik was read by Mira. " * 25,
        "one-word-without-any-end" * 30,
    ]
)


def hit(number: int, score: float = 0.5, body: str = "", **fields: Any) -> Hit:
    """A hit with this id; what is not given is plain."""
    values: dict[str, Any] = {
        "key": None,
        "layer": "knowledge",
        "title": "",
        "body": body or f"body of memory {'abcdefghijklmnopqrstuvwxyz'[number % 26]}",
        "role": None,
        "author": None,
        "tags": (),
        "happened_at": BEGIN + timedelta(days=number),
        "relevance": score,
        "vitality": 0.5,
        "zone": "active",
        "rank": 1,
        "explanation": {},
        **fields,
    }
    return Hit(id=number, score=score, **values)


made = st.builds(
    hit,
    st.integers(1, 99),
    st.sampled_from([0.0, 0.2, 0.9, 1.0]) | st.floats(0, 1),
    bodies | words,
    key=st.none() | words.filter(bool),
    title=words,
    layer=st.sampled_from(LAYERS),
    author=st.none() | words,
    role=st.sampled_from([None, "user", "assistant"]),
    happened_at=st.sampled_from([BEGIN, BEGIN + timedelta(days=1)]),
)
several = st.lists(made, max_size=10, unique_by=lambda one: one.id)


def pairs_of(hits: list[Hit]) -> list[tuple[int, int]]:
    """Every pair of ids, the smaller first."""
    return [*combinations(sorted(one.id for one in hits), 2)]
