"""The findings of each arm of a search in words, for reports of a miss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_MOST_WORDS = 12
_WORDS = (("held", "contains"), ("missing", "lacks"))
_SOURCES = {"cue": ("cue", "used together with"), "graph": ("from", "linked with")}


def seen_words(arm: str, seen: Mapping[str, Any]) -> str:
    """Describes the findings of an arm about a memory.

    Args:
        arm: the name of the arm.
        seen: its findings, as in ``Miss.arms``.

    Returns:
        ``similarity 0.71, rank 3``; ``nothing`` for an arm without findings.
    """
    return ", ".join(_parts(arm, seen)) or "nothing"


def _parts(arm: str, seen: Mapping[str, Any]) -> Iterator[str]:
    if arm == "lexical":
        yield from (f"{verb} {_listed(seen[name])}" for name, verb in _WORDS if seen.get(name))
    elif arm == "semantic" and "similarity" in seen:
        yield f"similarity {seen['similarity']:.2f}"
    elif arm == "semantic" and "reason" in seen:
        yield seen["reason"].rstrip(".")
    elif arm == "name" and "likeness" in seen:
        yield "the query names it" if seen["likeness"] == 1 else f"a name like it ({seen['likeness']:.2f})"
    elif arm in _SOURCES and _SOURCES[arm][0] in seen:
        source, verb = _SOURCES[arm]
        yield f"{verb} memory {seen[source]}"
    if "rank" in seen:
        yield f"rank {seen['rank']}"
    elif "limit" in seen:
        yield f"not among its best {seen['limit']:,}"


def _listed(words: Sequence[str]) -> str:
    quoted = [f"“{word}”" for word in words[:_MOST_WORDS]]
    return ", ".join(quoted) + (" and others" if len(words) > _MOST_WORDS else "")
