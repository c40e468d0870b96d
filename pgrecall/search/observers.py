"""Observers of searches: an interface counts and traces its searches without the client's knowledge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pgrecall.nouns.search.models import SearchResult

SearchObserver = Callable[[SearchResult, bool], None]
"""Called with the result of a search, and whether it asked for the reranker."""

_observer: ContextVar[SearchObserver | None] = ContextVar("search_observer", default=None)


@contextmanager
def searches_observed(observer: SearchObserver) -> Iterator[None]:
    """Calls ``observer`` after every search of this task or thread inside the block."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def search_ended(result: SearchResult, *, rerank: bool) -> None:
    """Calls the observer, if there is one."""
    observer = _observer.get()
    if observer is not None:
        observer(result, rerank)
