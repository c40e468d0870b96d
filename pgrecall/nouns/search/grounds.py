"""The grounds of a search: what the explanations of its hits are computed from.

A search hands them out as records in Postgres' binary format, because most explanations are never read, and
to write all their numbers as text would cost the server a thirtieth of a search. Such a record has no names:
here are the fields of each type, in the order of the database, to which later versions only add.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

HIT_GROUND = ("place", "found", "held", "logit", "log_odds", "placed", "floored", "layer", "accesses")
EVIDENCE = (
    "semantic_rank", "lexical_rank", "similarity", "coverage", "strength", "phrase", "likeness",
    "named_alone", "authored", "cue", "cued_by", "seed", "share", "own_logit", "period",
    "session_coverage", "token_similarity", "typical_similarity", "speech_act", "question", "speaker",
    "word_trust", "asked", "lent_by_question", "directive", "no_number",
)  # fmt: skip
ACTIVATION = (
    "tenant", "memory_id", "n", "first_at", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "credit",
    "decay", "clock", "in_degree", "spread", "spread_at", "last_linked_at", "cut_size", "protected",
    "vitality", "computed_at", "folded_until", "sessions", "sessions_at", "zone",
)  # fmt: skip
SEARCH_GROUND = (
    "now", "window_only", "mode", "weight", "model", "arms", "author", "weights", "queries", "analyzed",
    "periods",
)  # fmt: skip
RELEVANCE_MODEL = (
    "tenant", "embedder", "profile", "intercept", "similarity", "no_similarity", "coverage",
    "information", "name", "author", "fitted_on", "cue", "graph", "form", "vitality_weight",
    "vitality_mode", "token_similarity", "no_token_similarity", "session_coverage", "period", "question",
    "speaker", "no_number",
)  # fmt: skip
WEIGHTS = (
    "spread_weight", "spread_half_life_days", "revival_weight", "revival_rate", "revival_days",
    "stretch_per_link", "stretch_links", "protection_floor",
)  # fmt: skip
ANALYZED_QUERY = ("words", "steps", "documents", "queries", "idfs")
PERIOD = ("since", "until", "fade", "words")

Record = Mapping[str, Any]


class SearchGround:
    """What all hits of a search share, read when the first of their explanations is."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @cached_property
    def fields(self) -> Record:
        """Its fields; ``queries`` have their words and periods."""
        ground = _record(self._data, SEARCH_GROUND)
        analyzed, periods = (_array(ground[name]) if ground[name] else [] for name in ("analyzed", "periods"))
        return ground | {
            "model": _record(ground["model"], RELEVANCE_MODEL),
            "weights": _record(ground["weights"], WEIGHTS),
            "queries": [
                _record(_at(analyzed, place), ANALYZED_QUERY)
                | {"query": query, "period": _period(_record(_at(periods, place), PERIOD))}
                for place, query in enumerate(ground["queries"])
            ],
        }


def read_hit_ground(data: bytes) -> Record:
    """Reads what belongs to one hit."""
    hit = _record(data, HIT_GROUND)
    return hit | {"found": _record(hit["found"], EVIDENCE), "accesses": _record(hit["accesses"], ACTIVATION)}


def _at(values: Sequence[bytes | None], place: int) -> bytes | None:
    return values[place] if place < len(values) else None


def _period(period: Record) -> Record | None:
    if period.get("words") is None:
        return None
    return {name: _in_utc(period[name]) for name in ("since", "until")} | {"words": period["words"]}


def _in_utc(moment: datetime | None) -> str | None:
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z" if moment else None


def _record(data: bytes | None, names: Sequence[str]) -> dict[str, Any]:
    """The fields of a record by name; {} for NULL. Records in it, and arrays of them, stay as they are."""
    record: dict[str, Any] = {}
    if data is None:
        return record
    at = 4  # after the number of fields
    for name in names:
        kind, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        record[name] = None if size < 0 else _READERS.get(kind, bytes)(data[at : at + size])
        at += max(size, 0)
    return record


def _array(data: bytes) -> list[Any]:
    """The elements of an array of one dimension, or of none."""
    dimensions, _, kind = struct.unpack_from(">iiI", data)
    elements: list[Any] = []
    at = 20  # after the number of elements, and that of the first
    while dimensions and at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        at += 4
        elements.append(None if size < 0 else _READERS.get(kind, bytes)(data[at : at + size]))
        at += max(size, 0)
    return elements


def _whole(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


_FLOAT = struct.Struct(">d")
_HEAD = struct.Struct(">Ii")
"""What is before each value of a record: the number of its type and its length, -1 for NULL."""

_READERS: Mapping[int, Callable[[bytes], Any]] = {
    16: any,
    20: _whole,
    23: _whole,
    25: bytes.decode,
    701: lambda data: _FLOAT.unpack(data)[0],
    1009: _array,
    1022: _array,
    1184: lambda data: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=_whole(data)),
}
"""How values are read, by the number of their type in ``pg_type``: boolean, bigint, integer, text, double
precision, arrays of text and of double precision, timestamptz. Others are records."""
