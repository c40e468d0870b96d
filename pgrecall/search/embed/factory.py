"""The embedder that the settings name."""

from __future__ import annotations

from typing import assert_never

from pgrecall.errors import InvalidInput
from pgrecall.search.embed.embedder import MULTILINGUAL_MODEL, Embedder, HashEmbedder
from pgrecall.settings import Settings


def make_embedder(settings: Settings) -> Embedder | None:
    """Returns the configured embedder; None for ``none``. Loads no model and sends nothing.

    Raises:
        InvalidInput: ``http`` lacks its URL or its model.
        MissingExtra: ``local`` without pgrecall[local].
    """
    memories = _make_embedder(settings, settings.embedder_memory_type)
    query, memory = settings.embedder_query_prefix or "", settings.embedder_memory_prefix or ""
    types = settings.embedder_query_type, settings.embedder_memory_type
    if memories is None or not (query or memory or any(types)):
        return memories
    queries = memories if types[0] == types[1] else _make_embedder(settings, settings.embedder_query_type)
    assert queries is not None
    from pgrecall.search.embed.prefixes import with_prefixes

    return with_prefixes(memories, queries, memory_prefix=memory, query_prefix=query)


def _make_embedder(settings: Settings, input_type: str | None) -> Embedder | None:
    match settings.embedder:
        case "none":
            return None
        case "hash":
            return HashEmbedder(settings.embedder_dimensions or 64)
        case "local" if settings.embedder_model == MULTILINGUAL_MODEL:
            from pgrecall.search.embed.multilingual import MultilingualEmbedder, require_multilingual

            require_multilingual(settings)
            return MultilingualEmbedder()
        case "local":
            from pgrecall.search.embed.local import LocalEmbedder

            return LocalEmbedder(
                settings.embedder_model,
                settings.embedder_batch,
                dimensions=settings.embedder_dimensions,
                precision=settings.embedder_precision,
            )
        case "http":
            from pgrecall.search.embed.http import HttpEmbedder

            return HttpEmbedder(
                _required(settings.embedder_url, "PGRECALL_EMBEDDER_URL"),
                _required(settings.embedder_model, "PGRECALL_EMBEDDER_MODEL"),
                dimensions=settings.embedder_dimensions,
                key=settings.embedder_key,
                timeout=settings.embedder_timeout,
                batch=settings.embedder_batch,
                fields=_request_fields(settings, input_type),
            )
    assert_never(settings.embedder)


def _request_fields(settings: Settings, input_type: str | None) -> dict[str, str | int]:
    fields: dict[str, str | int] = {"input_type": input_type} if input_type else {}
    if settings.embedder_shorten:
        if settings.embedder_dimensions is None:
            raise InvalidInput(
                "PGRECALL_EMBEDDER_SHORTEN needs the length of the vectors.",
                hint="Set PGRECALL_EMBEDDER_DIMENSIONS.",
            )
        fields["dimensions"] = settings.embedder_dimensions
    return fields


def _required(value: str | None, variable: str) -> str:
    if not value:
        raise InvalidInput(
            f"The http embedder needs {variable}.",
            hint="Set it, or choose another embedder with PGRECALL_EMBEDDER.",
        )
    return value
