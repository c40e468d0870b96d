"""The state of a search, from its steps to its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from pgrecall.client._async.reads import AsyncSearchReads
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.search.found import Found
from pgrecall.nouns.search.models import Hit, SearchResult
from pgrecall.nouns.search.plan import ModelUse, SearchPlan, sum_of_uses
from pgrecall.search.model_use import uses_noted


@dataclass(slots=True)
class SearchRun:
    """The state of a search: names, skipped steps, timings, experiment, and the answering server.

    ``vectors`` are those of texts that were embedded for it, or for its search of another tenant.
    """

    reading: AsyncSearchReads
    names: tuple[str, ...] = ()
    skipped: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=perf_counter)
    experiment: Mapping[str, Any] | None = None
    completed_query: str | None = None
    plan: SearchPlan | None = None
    model_uses: list[ModelUse] = field(default_factory=list)
    vectors: dict[str, Embedded] = field(default_factory=dict)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Adds the milliseconds inside to a phase."""
        began = perf_counter()
        yield
        self.timings[phase] = self.timings.get(phase, 0.0) + 1000 * (perf_counter() - began)

    @contextmanager
    def asking(self, phase: str) -> Iterator[None]:
        """Times a phase that may ask the language model, and counts its questions."""
        with self.timed(phase), uses_noted(self.model_uses):
            yield

    def result(self, found: Found, hits: tuple[Hit, ...], *, reranked: bool = False) -> SearchResult:
        """Returns the result of the search and ends its timing."""
        self.experiment = found.experiment
        self.timings["total"] = 1000 * (perf_counter() - self.started)
        notice = (self.reading.notice,) if self.reading.notice else ()
        return SearchResult(
            hits,
            self.names,
            (*self.skipped, *found.skipped, *notice),
            found.search_id,
            found.arms,
            reranked,
            self.timings,
            found.confidence,
            bool(hits) and found.confident,
            self.reading.staleness,
            found.needs_context,
            self.completed_query,
            self.plan,
            sum_of_uses(self.model_uses) if self.model_uses else None,
        )
