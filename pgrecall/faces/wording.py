"""Words that several faces use: names, numbers and times, and sentences about misses."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pgrecall.faces.printable import printable
from pgrecall.vitality.parameters import DEFAULT_ZONES

if TYPE_CHECKING:
    from pgrecall.nouns.status.models import ReplicaStatus

_SPANS = (
    ("year", 365.25 * 86400), ("month", 30.44 * 86400), ("week", 7 * 86400), ("day", 86400.0),
    ("hour", 3600.0), ("minute", 60.0),
)  # fmt: skip
_MAX_WORDS = 12
_WORDS = (("held", "contains"), ("missing", "lacks"))
_SOURCES = {"cue": ("cue", "used together with"), "graph": ("from", "linked with")}
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


def shortened(text: str, width: int) -> str:
    """The text on one line of at most ``width`` characters, cut between words where that loses little,
    and never between a letter and its accents."""
    flat = " ".join(printable(text).encode("utf-8", "replace").decode().split())
    if len(flat) <= width:
        return flat
    cut = width - 1
    while cut > 0 and _joined(flat, cut):
        cut -= 1
    cut = cut or width - 1
    space = flat.rfind(" ", cut * 2 // 3, cut + 1)
    return f"{flat[: space if space > 0 else cut].rstrip()}…"


def named(title: str, key: str | None, number: int, width: int = 100) -> str:
    """The name of a memory for display: its title, else its key, else its id."""
    return shortened(title, width) or shortened(key or "", width) or f"memory {number}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 memory``, ``1,204 memories``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def about_replica(replica: ReplicaStatus) -> str:
    """Describes what a replica does and its lag, or why the primary answers."""
    if replica.problem:
        return f"Searches go to the primary: {replica.problem.removeprefix('replica: ')}."
    lag = "" if replica.staleness is None else f", at most {replica.staleness:.1f} s behind"
    return f"A replica answers searches{lag}; it has {counted(replica.behind or 0, 'byte')} to replay."


def percent(part: float, whole: float = 1) -> str:
    """A share as people write it: ``3.5 %``, ``under 0.1 %``. Only the whole is 100 %."""
    share = 100 * part / whole if whole else 0.0
    if 0 < share < 0.1:
        return "under 0.1 %"
    if 99.5 <= share < 100:
        return "over 99 %"
    return f"{share:.0f} %" if share >= 10 or share == 0 else f"{share:.1f} %"


def amount(value: float) -> str:
    """A vitality or one of its terms, to three digits after the point."""
    return "<0.001" if 0 < value < 0.001 else f"{value:,.3f}"


def moment(at: datetime) -> str:
    """A time in UTC, to the minute."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def duration_words(length: timedelta) -> str:
    """A length of time in the largest unit of which there are about two: ``3 days``, ``18 months``."""
    seconds = abs(length.total_seconds())
    for unit, size in _SPANS:
        if seconds >= 1.9 * size:
            return f"{seconds / size:.0f} {unit}s"
    return "1 minute" if seconds >= 60 else "a moment"


def rights_words(scopes: Sequence[str]) -> str:
    """What a program with these scopes of OAuth may do."""
    return "read and write" if "write" in scopes else "read"


def relation_words(relation: str) -> str:
    """``part_of`` as ``part of``."""
    return shortened(relation.replace("_", " "), 40)


def bounds_words() -> str:
    """Describes the default bounds of zones."""
    zones = DEFAULT_ZONES
    return f"active from {zones.active:g}, stale from {zones.stale:g}, fading from {zones.fading:g}"


def _joined(text: str, cut: int) -> bool:
    """Whether a cut before ``text[cut]`` would split one visible character."""
    following = text[cut]
    return (
        unicodedata.combining(following) != 0
        or following in _JOINERS
        or text[cut - 1] == "\u200d"
        or "\U0001f3fb" <= following <= "\U0001f3ff"
    )


def name_of(title: str, key: str | None, number: int) -> str:
    """The name of a memory for display: its title, else its key, else its id."""
    return " ".join(printable(title or key or f"memory {number}").split())


_SINGULAR = {
    "backups": "backup",
    "batches": "batch",
    "changes": "change",
    "checks": "check",
    "memories": "memory",
    "problems": "problem",
    "searches": "search",
}


def counts_words(done: int, counts: Mapping[str, int]) -> str:
    """The counts of a run of a job: ``1 batch, 3 problems``; without any, how much was done."""
    named = (counted(count, _SINGULAR.get(name, name), name) for name, count in counts.items())
    return ", ".join(named) or f"{done:,} done"


def interval_words(minutes: float | None) -> str:
    if minutes is None:
        return "by hand"
    if minutes == 0:
        return "off"
    if minutes < 1:
        return f"{minutes * 60:g} s"
    return f"{minutes:g} min" if minutes < 120 else f"{minutes / 60:g} h"


def seen_words(arm: str, seen: Mapping[str, Any]) -> str:
    """Describes the findings of an arm about a memory.

    Args:
        arm: the name of the arm.
        seen: its findings, as in ``Miss.arms``.

    Returns:
        ``similarity 0.71, rank 3``; ``nothing`` for an arm without findings.
    """
    return ", ".join(_seen_parts(arm, seen)) or "nothing"


def _seen_parts(arm: str, seen: Mapping[str, Any]) -> Iterator[str]:
    if arm == "lexical":
        yield from (f"{verb} {_quoted(seen[name])}" for name, verb in _WORDS if seen.get(name))
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


def _quoted(words: Sequence[str]) -> str:
    quoted = [f"“{word}”" for word in words[:_MAX_WORDS]]
    return ", ".join(quoted) + (" and others" if len(words) > _MAX_WORDS else "")
