"""Who is told of searches: a face counts and traces those of its calls, and no client needs to know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pgrecall.models.search import SearchResult

SearchObserver = Callable[[SearchResult, bool], None]
"""Called with the result of a search, and whether it asked for the reranker."""

_observer: ContextVar[SearchObserver | None] = ContextVar("search_observer", default=None)


@contextmanager
def searches_observed(observer: SearchObserver) -> Iterator[None]:
    """Tells ``observer`` of every search of this task or thread inside the block, as soon as it ended."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def search_ended(result: SearchResult, *, rerank: bool) -> None:
    """Tells the observer, if there is one."""
    observer = _observer.get()
    if observer is not None:
        observer(result, rerank)
