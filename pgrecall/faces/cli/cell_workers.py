"""Workers of several cells in one process, each with a connection pool and a worker of its own."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import Event, Thread
from typing import TYPE_CHECKING

from pgrecall.errors import DatabaseUnavailable, InvalidInput, RecallError
from pgrecall.jobs.worker import Worker
from pgrecall.nouns.jobs.models import JobOutcome
from pgrecall.nouns.service.models import Census
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from pgrecall import Memory
    from pgrecall.cells.directory import CellEntry
    from pgrecall.cells.fleet import Fleet
    from pgrecall.search.embed.embedder import Embedder

REFRESH_SECONDS = 60.0
"""Seconds after which a new cell is served, and one that did not answer is tried again."""

logger = logging.getLogger("pgrecall.jobs")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of all workers: settings, the embedder, the stop event, and a check of each open client."""

    settings: Settings
    embedder: Embedder | None
    stop: Event
    check: Callable[[Memory], None]


class CellWorkers:
    """Serves the jobs of every cell, or of one. A cell that does not answer does not delay the jobs of
    others.

    Args:
        only: number of the one cell to serve; None serves all, also those that are added later.
    """

    def __init__(self, fleet: Fleet, options: WorkerOptions, only: int | None = None) -> None:
        self._fleet = fleet
        self._options = options
        self._only = only
        self._numbers: tuple[int, ...] = ()
        self._workers: dict[int, Worker] = {}
        self._memories: dict[int, Memory] = {}
        self._errors: dict[int, str] = {}

    def cells(self) -> tuple[CellEntry, ...]:
        """The cells to serve.

        Raises:
            InvalidInput: there is none, or not this one.
        """
        if self._only is not None:
            return (self._fleet.directory.cell(self._only),)
        found = self._fleet.directory.cells()
        if not found:
            raise InvalidInput("There is no cell yet.", hint="Add one: pgrecall cell add URL.")
        return found

    def run_once(self) -> bool:
        """Runs every job that is due once, in all cells at the same time; returns whether all went well."""
        cells = self.cells()
        with ThreadPoolExecutor(len(cells)) as threads:
            outcomes = list(threads.map(self._run_once, cells))
        return all(done is not None and all(one.state != "failed" for one in done) for done in outcomes)

    def serve(self) -> None:
        """Runs jobs of all cells at their intervals until the stop is set."""
        threads: dict[int, Thread] = {}
        cells = self.cells()
        while True:
            self._numbers = tuple(entry.number for entry in cells)
            for entry in cells:
                if entry.number not in threads or not threads[entry.number].is_alive():
                    threads[entry.number] = Thread(
                        target=self._serve, args=[entry], name=f"cell {entry.number}"
                    )
                    threads[entry.number].start()
            if self._options.stop.wait(REFRESH_SECONDS):
                break
            try:
                cells = self.cells()
            except RecallError as error:  # the directory is away; the cells are served on
                logger.error("The directory of cells cannot be read: %s", error.message)
        for thread in threads.values():
            thread.join()

    def problems(self) -> list[str]:
        """The reasons why due jobs may not begin, a sentence each; empty when all is well."""
        found = []
        for number in self._numbers:
            worker = self._workers.get(number)
            if worker is not None:
                found += [f"Cell {number}: {problem}" for problem in worker.problems()]
            else:
                found.append(f"Cell {number}: {self._errors.get(number, 'Its worker has not started yet.')}")
        return found or ([] if self._numbers else ["No cell is served yet."])

    def pool_stats(self) -> dict[str, int]:
        """Statistics of the connection pools of all cells together."""
        figures: Counter[str] = Counter()
        for memory in tuple(self._memories.values()):
            figures.update(memory.pool_stats())
        return dict(figures)

    def census(self) -> Census:
        """The figures of the one cell that is served, or of all cells.

        Raises:
            DatabaseUnavailable: that one does not answer, or the directory.
        """
        from pgrecall import Memory

        if self._only is None:
            with Memory(cells=self._fleet.directory.url, settings=self._without_models()) as client:
                return client.service.census()
        memory = self._memories.get(self._only)
        if memory is None:
            raise DatabaseUnavailable(f"Cell {self._only} is not served.", hint="See pgrecall cell check.")
        return memory.service.census()

    def _without_models(self) -> Settings:
        return replace(self._options.settings, embedder="none", reranker="none")

    def _run_once(self, entry: CellEntry) -> list[JobOutcome] | None:
        try:
            with ExitStack() as opened:
                return self._worker(entry, opened).run_once()
        except RecallError as error:
            self._report(entry, error)
            return None

    def _serve(self, entry: CellEntry) -> None:
        try:
            with ExitStack() as opened:
                worker = self._workers[entry.number] = self._worker(entry, opened)
                self._errors.pop(entry.number, None)
                worker.serve()
        except RecallError as error:
            self._report(entry, error)
        finally:
            self._workers.pop(entry.number, None)
            self._memories.pop(entry.number, None)

    def _worker(self, entry: CellEntry, opened: ExitStack) -> Worker:
        from pgrecall import Memory

        options, url = self._options, self._fleet.directory.url_of(entry.address)
        memory = opened.enter_context(Memory(url, settings=self._without_models()))
        options.check(memory)
        self._memories[entry.number] = memory
        runner = memory.jobs.runner(embedder=options.embedder, stop=options.stop)
        runner.require_session()
        return Worker(runner)

    def _report(self, entry: CellEntry, error: RecallError) -> None:
        self._errors[entry.number] = error.message
        logger.error("cell=%s state=unserved error=%r", entry.number, error.message)
