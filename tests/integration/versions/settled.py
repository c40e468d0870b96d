"""Changes are readable once all transactions that began before have ended, those of other tests too."""

from __future__ import annotations

from pgrecall import Memory
from pgrecall.nouns.history.models import Change
from tests.databases import Query
from tests.waiting import until


def settle(query: Query) -> None:
    """Waits until all that was committed so far is readable."""
    [mark] = query("SELECT pg_current_xact_id()::text::bigint AS xid")
    until(
        lambda: query(
            "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint > %s AS past", (mark["xid"],)
        )[0]["past"],
        "the transactions of other tests end",
    )


def all_changes(memory: Memory, since: str | None = None, *, limit: int = 1000) -> list[Change]:
    """Every change after a cursor, read in pages."""
    read: list[Change] = []
    while page := memory.history.changes(since, limit=limit):
        read += page
        since = page[-1].cursor
    return read
