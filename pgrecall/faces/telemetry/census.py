"""Figures of the whole database as Prometheus metrics, cached because counting is expensive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pgrecall.errors import RecallError
from pgrecall.nouns.service.models import CellsReport, Census

CENSUS_MAX_AGE = 60.0
"""Seconds for which counts are cached; counting reads every memory."""

CENSUS_TIMEOUT = 2.0
"""Seconds that a request waits for new counts before it gets the previous ones."""


class CensusCache:
    """The database's counts, refreshed at most once a minute.

    Args:
        count: counts the whole database.
        report: called with the error if counting fails.
    """

    def __init__(self, count: Callable[[], Awaitable[Census]], report: Callable[[RecallError], None]) -> None:
        self._count_all = count
        self._report = report
        self._census: Census | None = None
        self._counted_at = -CENSUS_MAX_AGE
        self._counting: asyncio.Task[None] | None = None

    async def get(self) -> Census | None:
        """Returns the newest counts, older ones if counting takes long, or None if the last count failed."""
        if time.monotonic() - self._counted_at >= CENSUS_MAX_AGE and self._counting is None:
            self._counting = asyncio.create_task(self._count())
        if self._counting is not None:
            await asyncio.wait({self._counting}, timeout=CENSUS_TIMEOUT)
        return self._census

    async def stop(self) -> None:
        """Cancels a running count."""
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.wait({self._counting})

    async def _count(self) -> None:
        try:
            self._census = await self._count_all()
        except RecallError as error:
            self._report(error)
            self._census = None
        finally:
            self._counted_at = time.monotonic()
            self._counting = None


def exposition_of(census: Census) -> bytes:
    """Renders the counts in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(_CensusGauges(census))
    return generate_latest(registry)


@dataclass(frozen=True, slots=True)
class _CensusGauges(Collector):
    """The counts of the database as gauges."""

    census: Census

    def collect(self) -> Iterable[Metric]:
        zones = GaugeMetricFamily(
            "pgrecall_memories",
            "Live memories, as of the last run of the job vitality.",
            labels=("layer", "zone"),
        )
        for count in self.census.zones:
            zones.add_metric((count.layer, count.zone or "unknown"), count.memories)
        yield zones
        for name, description, value in (
            ("archived", "Archived memories.", self.census.archived),
            ("awaiting_embedding", "Memories without a vector.", self.census.awaiting_embedding),
            ("accesses_waiting", "Accesses that are not folded yet.", self.census.accesses_waiting),
        ):
            yield GaugeMetricFamily(f"pgrecall_{name}", description, value=value)
        yield from self._jobs()
        if self.census.cells is not None:
            yield from _cells(self.census.cells)

    def _jobs(self) -> Iterable[Metric]:
        running = GaugeMetricFamily("pgrecall_job_running", "Tenants it runs for now.", labels=("job",))
        failed = GaugeMetricFamily("pgrecall_job_failed", "Tenants whose last run failed.", labels=("job",))
        done = GaugeMetricFamily(
            "pgrecall_job_done_timestamp_seconds", "When the newest successful run ended.", labels=("job",)
        )
        for job in self.census.jobs:
            running.add_metric((job.job,), job.running)
            failed.add_metric((job.job,), job.failed)
            if job.done_at is not None:
                done.add_metric((job.job,), job.done_at)
        yield from (running, failed, done)


def _cells(report: CellsReport) -> Iterable[Metric]:
    """Yields the figures of every cell and of moves. All other figures cover only the cells that answer."""
    answers = GaugeMetricFamily("pgrecall_cell_up", "Whether the cell answers.", labels=("cell",))
    tenants = GaugeMetricFamily("pgrecall_cell_tenants", "Tenants placed in the cell.", labels=("cell",))
    held = GaugeMetricFamily(
        "pgrecall_cell_bytes", "Size of the cell, as last noted by `pgrecall cell list`.", labels=("cell",)
    )
    for cell in report.cells:
        name = (str(cell.number),)
        answers.add_metric(name, 0 if cell.problem else 1)
        tenants.add_metric(name, cell.tenants)
        held.add_metric(name, cell.bytes)
    steps = [move.step == "flipped" for move in report.moves]
    moves = GaugeMetricFamily("pgrecall_moves", "Tenants that move, by step.", labels=("step",))
    moves.add_metric(("copying",), steps.count(False))
    moves.add_metric(("flipped",), steps.count(True))
    yield from (answers, tenants, held, moves)
