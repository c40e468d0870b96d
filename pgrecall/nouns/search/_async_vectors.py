"""The vectors of the queries of a search."""

from __future__ import annotations

from collections.abc import Sequence

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.errors import EmbedderError
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.search._async_run import SearchRun
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.operations import queries_without_names


async def query_vectors(
    connection: AsyncConnection, request: SearchRequest, run: SearchRun
) -> list[Embedded] | None:
    """The vector and token signs of each query without the names in it; None where words have to do."""
    if not request.asked:
        return None
    if connection.embedder is None:
        run.skipped.append("meaning: no embedder is configured")
        return None
    with run.timed("names"):
        execute = run.reading.execute if run.reading.asks_replica else connection.execute
        queries = await execute(queries_without_names(request.asked))
    return await without_names(connection, queries, run)


async def without_names(
    connection: AsyncConnection, queries: Sequence[tuple[str, tuple[str, ...]]], run: SearchRun
) -> list[Embedded] | None:
    """Embeds queries without the names in them, which come with each, and notes these names."""
    run.names = tuple(dict.fromkeys(name for _, names in queries for name in names))
    connection.resources.nameless.note(connection.tenant, named=bool(run.names))
    return await embedded(connection, [query for query, _ in queries], run)


async def embedded(
    connection: AsyncConnection, queries: Sequence[str], run: SearchRun
) -> list[Embedded] | None:
    """The vector and token signs of each of these texts; None where the embedder failed."""
    unknown = [query for query in dict.fromkeys(queries) if query not in run.vectors]
    try:
        with run.timed("embedding"):
            made = await connection.embed_queries(unknown) if unknown else []
        run.vectors.update(zip(unknown, made, strict=True))
        return [run.vectors[query] for query in queries]
    except EmbedderError as error:
        run.skipped.append(f"meaning: {error}")
        return None
