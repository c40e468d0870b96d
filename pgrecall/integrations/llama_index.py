"""A retriever for LlamaIndex.

>>> engine = RetrieverQueryEngine.from_args(PgrecallRetriever(memory, k=5))  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Unpack

from pgrecall import AsyncMemory, Memory
from pgrecall.arguments import SearchOptions
from pgrecall.errors import MissingExtra
from pgrecall.integrations.retrieval import hit_metadata, search, search_async
from pgrecall.nouns.search.models import SearchResult

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingExtra("llama-index-core", "llamaindex") from error


class PgrecallRetriever(BaseRetriever):
    """Retrieves memories as nodes with their score, best first.

    A node has the memory's id and body. Its metadata are the hit's other fields, hidden from the model. With
    a :class:`pgrecall.Memory`, ``retrieve`` and ``aretrieve`` work (the latter in a thread); with a
    :class:`pgrecall.AsyncMemory`, only ``aretrieve``.

    Args:
        memory: the open client; its owner closes it.
        options: options of :meth:`pgrecall.Memory.search`.
    """

    def __init__(self, memory: Memory | AsyncMemory, **options: Unpack[SearchOptions]) -> None:
        self._memory = memory
        self._options = options
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(search(self._memory, query_bundle.query_str, self._options, instead="aretrieve"))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await search_async(self._memory, query_bundle.query_str, self._options))


def _nodes(result: SearchResult) -> list[NodeWithScore]:
    nodes = []
    for hit in result.hits:
        metadata = hit_metadata(hit, result)
        node = TextNode(
            id_=str(hit.id),
            text=hit.body,
            metadata=metadata,
            excluded_embed_metadata_keys=list(metadata),
            excluded_llm_metadata_keys=list(metadata),
        )
        nodes.append(NodeWithScore(node=node, score=hit.score))
    return nodes
