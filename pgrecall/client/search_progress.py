"""What a search learns on its way beside its hits: names, what did not run, and how long each phase took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from pgrecall.models.search import Found, Hit, SearchResult

UNLOGGED = {
    "25006": "log: the database is read-only, so it is not counted what was shown",
    "53100": "log: the disk of Postgres is full, so it is not counted what was shown",
}
"""Why a search answers without being logged, by the SQLSTATE of the write: a standby, a full disk."""


@dataclass(slots=True)
class Progress:
    """Collected during a search; ``result`` is what the caller gets."""

    names: tuple[str, ...] = ()
    skipped: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=perf_counter)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Adds the milliseconds inside to a phase."""
        began = perf_counter()
        yield
        self.timings[phase] = self.timings.get(phase, 0.0) + 1000 * (perf_counter() - began)

    def result(self, found: Found, hits: tuple[Hit, ...], *, reranked: bool = False) -> SearchResult:
        """The result of the search, which ends here."""
        self.timings["total"] = 1000 * (perf_counter() - self.started)
        return SearchResult(
            hits,
            self.names,
            (*self.skipped, *found.skipped),
            found.search_id,
            found.arms,
            reranked,
            self.timings,
        )
