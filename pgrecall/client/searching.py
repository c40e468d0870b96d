"""Questions and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from pgrecall import workflows
from pgrecall.client.driver import Driver
from pgrecall.models.search import SearchRequest

if TYPE_CHECKING:
    from pgrecall.arguments import SearchOptions
    from pgrecall.models.search import SearchResult


class Searching(Driver):
    """What memories answer."""

    def search(self, query: str = "", **options: Unpack[SearchOptions]) -> SearchResult:
        """The memories that answer a question, best first; the options are those of :class:`SearchRequest`.

        What is returned is logged as shown, a tenth of a use each, unless ``log=False`` or a ``now`` is
        given; ``skipped`` says what did not run: meaning, when the embedder failed, reranking, when it
        failed or ran out of time, and the log, when the database can only be read.

        Raises:
            InvalidInput: the query is empty, too long or holds only stop words; a filter, a profile or an arm
                is unknown; a number is out of bounds.
            MemoryNotFound: a cue is not there.
        """
        options.setdefault("session_id", self.session_id)
        request = SearchRequest(query, **options)
        return self._drive(workflows.search(request, self._abilities))
