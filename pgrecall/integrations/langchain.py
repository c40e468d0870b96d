"""A retriever for LangChain.

>>> retriever = PgrecallRetriever(memory=memory, options={"k": 5})                      # doctest: +SKIP
>>> chain = {"context": retriever, "question": RunnablePassthrough()} | prompt | model  # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from pydantic import Field

from pgrecall import AsyncMemory, Memory
from pgrecall.arguments import SearchOptions
from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.integrations.hits import facts
from pgrecall.models.search import SearchResult

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    raise MissingExtra("langchain-core", "langchain") from error


class PgrecallRetriever(BaseRetriever):
    """The memories that answer a question, best first, as documents.

    A document has the memory's id and body; its metadata are the hit's other fields, with the ``search_id``
    by which ``memory.used`` is told what was of use. With a :class:`pgrecall.Memory` both ``invoke`` and
    ``ainvoke`` work (the latter in a thread), with a :class:`pgrecall.AsyncMemory` only ``ainvoke``.

    Attributes:
        memory: the open client; its owner closes it.
        options: those of :meth:`pgrecall.Memory.search`.
    """

    memory: Memory | AsyncMemory
    options: Mapping[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self._found(query)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if isinstance(self.memory, Memory):
            return await asyncio.to_thread(self._found, query)
        return _documents(await self.memory.search(query, **cast(SearchOptions, self.options)))

    def _found(self, query: str) -> list[Document]:
        if isinstance(self.memory, AsyncMemory):
            raise InvalidInput(
                "This retriever has an AsyncMemory, which has to be awaited.",
                hint="Call ainvoke, or give it a Memory.",
            )
        return _documents(self.memory.search(query, **cast(SearchOptions, self.options)))


def _documents(result: SearchResult) -> list[Document]:
    return [Document(hit.body, id=str(hit.id), metadata=facts(hit, result)) for hit in result.hits]
