"""Questions and their answers."""

from __future__ import annotations

from typing import Unpack

from pgrecall import flows
from pgrecall.arguments import SearchOptions
from pgrecall.client.driver import Driver
from pgrecall.models import SearchRequest, SearchResult


class Searching(Driver):
    """What memories answer."""

    def search(self, query: str, **options: Unpack[SearchOptions]) -> SearchResult:
        """The memories that answer a question, best first.

        When the embedder fails, words and names answer alone and ``skipped`` says so.

        Raises:
            InvalidInput: the query is empty, too long or holds only stop words; a filter is unknown.
        """
        request = SearchRequest(query, **options)
        return self._drive(flows.search(request, embed=self.embedder is not None))
