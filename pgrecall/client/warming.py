"""The search that a new connection makes before it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pgrecall.client.resources import Resources
    from pgrecall.nouns.operation import Operation


def first_search(resources: Resources) -> Operation[Any]:
    """A search that takes the usual way through the SQL functions, with vectors if there is an embedder."""
    from pgrecall.nouns.embedding import Embedded
    from pgrecall.nouns.search.models import SearchRequest
    from pgrecall.nouns.search.operations import find
    from pgrecall.search.embed.embedder import TokenEmbedder

    vectors, dimensions = None, resources.dimensions
    if resources.embedder is not None and dimensions is not None:
        signs = (bytes(dimensions // 8),) * 2 if isinstance(resources.embedder, TokenEmbedder) else None
        vectors = [Embedded([1.0] * dimensions, signs)]
    # Not logged: even if it were rolled back, it would use up the id of a search.
    return find(SearchRequest("What did we say about the first search?"), vectors)
