"""A retriever for LangChain.

>>> retriever = PgrecallRetriever(memory=memory, options={"k": 5})                      # doctest: +SKIP
>>> chain = {"context": retriever, "question": RunnablePassthrough()} | prompt | model  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ConfigDict, Field

from pgrecall import AsyncMemory, Memory
from pgrecall.arguments import SearchOptions
from pgrecall.errors import MissingExtra
from pgrecall.integrations.retrieval import hit_metadata, search, search_async
from pgrecall.nouns.search.models import SearchResult

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    raise MissingExtra("langchain-core", "langchain") from error


class PgrecallRetriever(BaseRetriever):
    """Retrieves memories as documents, best first.

    A document has the memory's id and body. Its metadata are the hit's other fields and the ``search_id`` for
    ``memory.used``. With a :class:`pgrecall.Memory`, ``invoke`` and ``ainvoke`` work (the latter in a
    thread); with a :class:`pgrecall.AsyncMemory`, only ``ainvoke``.

    Attributes:
        memory: the open client; its owner closes it.
        k: maximum number of documents; None is that of ``options``. ``invoke(query, k=3)`` goes before it.
        options: options of :meth:`pgrecall.Memory.search`; those given to ``invoke`` go before them.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory | AsyncMemory
    k: int | None = None
    options: Mapping[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return _documents(search(self.memory, query, self._merged(options), instead="ainvoke"))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return _documents(await search_async(self.memory, query, self._merged(options)))

    def _merged(self, options: Mapping[str, Any]) -> SearchOptions:
        own = {} if self.k is None else {"k": self.k}
        return cast(SearchOptions, {**self.options, **own, **options})


def _documents(result: SearchResult) -> list[Document]:
    return [Document(hit.body, id=str(hit.id), metadata=hit_metadata(hit, result)) for hit in result.hits]
