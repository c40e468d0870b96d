"""Feedback on searches, reports of it, and the coefficients of relevance and of rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pgrecall.encoding import MAX_ID
from pgrecall.errors import InvalidInput
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.feedback.models import JudgedHit, JudgedSearch, MemoryFeedback
from pgrecall.nouns.operation import NOW, Operation, Row, checked_limit, id_of, read_int, rows_of

_MAX_SHOWN = 1000


def used(search: object, memories: int | str | Sequence[int | str], now: datetime | None) -> Operation[int]:
    """Records that memories were used; returns how many verdicts are new."""
    return _verdict("used", search, memories, now)


def rejected(
    search: object, memories: int | str | Sequence[int | str], now: datetime | None
) -> Operation[int]:
    """Records that memories did not answer; returns how many verdicts are new."""
    return _verdict("rejected", search, memories, now)


def feedback_by_memory(
    limit: int, unused: bool, since: datetime | None
) -> Operation[tuple[MemoryFeedback, ...]]:
    """Counts how often each memory was shown, used and rejected; the most shown first."""
    return rows_of(
        "feedback_by_memory", MemoryFeedback, limit=checked_limit(limit, "10,000"), unused=unused, since=since
    )


def feedback_qrels(since: datetime | None, skipped: bool, limit: int) -> Operation[tuple[JudgedSearch, ...]]:
    """Reads searches with verdicts, oldest first."""
    return Operation(
        "SELECT * FROM recall.feedback_qrels(%(since)s, %(skipped)s, %(limit)s)",
        {"since": since, "skipped": skipped, "limit": checked_limit(limit, "100,000")},
        lambda rows: tuple(_judged(row) for row in rows),
        repeatable=True,
    )


def _verdict(
    verdict: str, search: object, memory_or_several: int | str | Sequence[int | str], now: datetime | None
) -> Operation[int]:
    memories = _references(memory_or_several)
    if len(memories) > _MAX_SHOWN:
        raise InvalidInput(
            f"These are {len(memories):,} memories to judge.",
            hint=f"A search shows {_MAX_SHOWN:,} at most; name each once.",
        )
    names = {f"memory{place}": reference for place, reference in enumerate(memories)}
    ids = ", ".join(id_of(reference, name) for name, reference in names.items())
    return Operation(
        f"SELECT recall.{verdict}(%(search)s, ARRAY[{ids}]::bigint[], {NOW})",
        {"search": _known(search), "now": now, **names},
        read_int,
        repeatable=True,
    )


def _references(memories: object) -> Sequence[int | str]:
    """Returns one or more ids and keys as a sequence."""
    if isinstance(memories, int | str):
        return [memories]
    if not isinstance(memories, Sequence) or not all(isinstance(one, int | str) for one in memories):
        raise InvalidInput(
            f"{memories!r:.100} names no memories.", hint="Give ids or keys: a hit's `id`, or a list of them."
        )
    return memories


def _known(search: object) -> int:
    """Returns the id of a search; raises InvalidInput for an impossible one."""
    if search is None:
        raise InvalidInput(
            "This search was not logged, so what it showed cannot be judged.",
            hint="Search with log=True, without `now`, in a database that can be written to, and with "
            "`search.log_days` above 0.",
        )
    if isinstance(search, bool) or not isinstance(search, int) or not 0 < search <= MAX_ID:
        raise InvalidInput(
            f"There is no search {search!r} in this tenant.",
            hint="`search_id` of a result has the id of its search.",
        )
    return search


def _judged(row: Row) -> JudgedSearch:
    queries = row["queries"]
    return JudgedSearch(
        row["search_id"],
        row["query"],
        None if queries is None else tuple(queries),
        row["at"],
        tuple(read_as(JudgedHit, judgement) for judgement in row["judgements"]),
    )
