"""A retriever for LlamaIndex.

>>> engine = RetrieverQueryEngine.from_args(PgrecallRetriever(memory, k=5))  # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
from typing import Unpack

from pgrecall import AsyncMemory, Memory
from pgrecall.arguments import SearchOptions
from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.integrations.hits import facts
from pgrecall.models.search import SearchResult

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingExtra("llama-index-core", "llamaindex") from error


class PgrecallRetriever(BaseRetriever):
    """The memories that answer a question, best first, as nodes with the hit's score.

    A node has the memory's id and body; its metadata are the hit's other fields, which the model is not
    shown. With a :class:`pgrecall.Memory` both ``retrieve`` and ``aretrieve`` work (the latter in a thread),
    with a :class:`pgrecall.AsyncMemory` only ``aretrieve``.
    """

    def __init__(self, memory: Memory | AsyncMemory, **options: Unpack[SearchOptions]) -> None:
        self._memory = memory
        self._options = options
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if isinstance(self._memory, AsyncMemory):
            raise InvalidInput(
                "This retriever has an AsyncMemory, which has to be awaited.",
                hint="Call aretrieve, or give it a Memory.",
            )
        return _nodes(self._memory.search(query_bundle.query_str, **self._options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if isinstance(self._memory, Memory):
            return await asyncio.to_thread(self._retrieve, query_bundle)
        return _nodes(await self._memory.search(query_bundle.query_str, **self._options))


def _nodes(result: SearchResult) -> list[NodeWithScore]:
    nodes = []
    for hit in result.hits:
        known = facts(hit, result)
        node = TextNode(
            id_=str(hit.id),
            text=hit.body,
            metadata=known,
            excluded_embed_metadata_keys=list(known),
            excluded_llm_metadata_keys=list(known),
        )
        nodes.append(NodeWithScore(node=node, score=hit.score))
    return nodes
