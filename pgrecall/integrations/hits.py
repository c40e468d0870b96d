"""What libraries keep beside a hit's text."""

from __future__ import annotations

from typing import Any

from pgrecall.models.search import Hit, SearchResult


def facts(hit: Hit, result: SearchResult) -> dict[str, Any]:
    """The fields of a hit that say what it is and why it was found, as JSON has them."""
    return {
        "id": hit.id,
        "key": hit.key,
        "title": hit.title,
        "layer": hit.layer,
        "role": hit.role,
        "author": hit.author,
        "tags": list(hit.tags),
        "happened_at": hit.happened_at.isoformat(),
        "score": hit.score,
        "relevance": hit.relevance,
        "vitality": hit.vitality,
        "zone": hit.zone,
        "rank": hit.rank,
        "superseded_by": hit.superseded_by,
        "contradicts": list(hit.contradicts),
        "search_id": result.search_id,
    }
