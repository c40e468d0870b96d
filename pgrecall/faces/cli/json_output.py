"""What commands print with ``--json``: the values of :mod:`pgrecall.models` as JSON documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from pgrecall.models.search import SearchResult


def search_document(query: str, result: SearchResult) -> dict[str, Any]:
    """A search's answer; its keys are part of the command line's interface."""
    return {
        "query": query,
        "no_match": result.no_match,
        "hits": plain(result.hits),
        "search_id": result.search_id,
        "reranked": result.reranked,
        "arms": plain(result.arms),
        "names": list(result.names),
        "skipped": list(result.skipped),
        "timings": plain(result.timings),
    }


def to_text(document: object) -> str:
    """Indented JSON; letters stay letters, times are ISO 8601."""
    return json.dumps(plain(document), ensure_ascii=False, indent=2)


def plain(value: object) -> Any:
    """Dataclasses, mappings, tuples and times as what JSON has."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value
