"""Functions shared by the retrievers: search from sync and async code, and the metadata of a hit."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from pgrecall import AsyncMemory, Memory
from pgrecall.arguments import SearchOptions
from pgrecall.errors import InvalidInput
from pgrecall.nouns.search.models import Hit, SearchResult

_SHARED = (
    "id", "key", "title", "layer", "role", "author", "score", "relevance", "vitality", "zone", "rank",
    "superseded_by",
)  # fmt: skip


def search(memory: Memory | AsyncMemory, query: str, options: SearchOptions, *, instead: str) -> SearchResult:
    """Searches with a synchronous client.

    Raises:
        InvalidInput: the client is asynchronous; the hint names the method to call ``instead``.
    """
    if isinstance(memory, AsyncMemory):
        raise InvalidInput(
            "This retriever has an AsyncMemory, which has to be awaited.",
            hint=f"Call {instead}, or give it a Memory.",
        )
    return memory.search(query, **options)


async def search_async(memory: Memory | AsyncMemory, query: str, options: SearchOptions) -> SearchResult:
    """Searches with either client; a synchronous one works in a thread."""
    if isinstance(memory, Memory):
        return await asyncio.to_thread(memory.search, query, **options)
    return await memory.search(query, **options)


def hit_metadata(hit: Hit, result: SearchResult) -> dict[str, Any]:
    """Returns the fields of a hit except its body, as JSON values, and the id of the search."""
    return {name: getattr(hit, name) for name in _SHARED} | {
        "tags": list(hit.tags),
        "happened_at": hit.happened_at.isoformat(),
        "contradicts": list(hit.contradicts),
        "passage": None if hit.passage is None else asdict(hit.passage),
        "search_id": result.search_id,
    }
