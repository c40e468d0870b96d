"""Logging what a search showed, if the database can be written to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.errors import DatabaseError, DatabaseUnavailable
from pgrecall.importers.secrets import without_secrets
from pgrecall.nouns.search._async_run import SearchRun
from pgrecall.nouns.search.models import ConversationTurn, Hit, SearchRequest
from pgrecall.nouns.search.operations import log_shown

UNLOGGED = {
    "25006": "log: the database is read-only, so hits were not logged",
    "53100": "log: the disk of Postgres is full, so hits were not logged",
}
"""Reasons for answering without a log entry, by the SQLSTATE of the failed write."""

NO_PRIMARY = "log: the primary does not answer, so hits were not logged"
"""The reason where a replica answers for it."""


async def log_hits(
    connection: AsyncConnection, request: SearchRequest, hits: Sequence[Hit], run: SearchRun
) -> int | None:
    """The id of the search, logged with what it showed; None where nothing can be written.

    Secrets in its queries are left out of the log.
    While the primary is down, the answer of a replica is enough.
    """
    by_replica = run.reading.staleness is not None
    if by_replica and (replica := await connection.replica()) is not None and not replica.primary_answers():
        run.skipped.append(NO_PRIMARY)
        return None
    shown = log_shown(
        [hit.id for hit in hits],
        request.session_id,
        without_secrets(request.query)[0],
        queries=request.queries and [without_secrets(query)[0] for query in request.queries],
        profile=request.profile,
        experiment=run.experiment,
    )
    try:
        return await connection.execute(shown)
    except DatabaseUnavailable:
        if not by_replica:
            raise
        run.skipped.append(NO_PRIMARY)
        return None
    except DatabaseError as error:
        if error.sqlstate not in UNLOGGED:
            raise
        run.skipped.append(UNLOGGED[error.sqlstate])
        return None


def loggable(turns: Sequence[ConversationTurn]) -> list[ConversationTurn]:
    """The turns that complete a query, which is logged, without secrets.

    Of each the database takes a part, and half a secret would not be found in it.
    """
    return [replace(turn, content=without_secrets(turn.content)[0]) for turn in turns]
