"""The censuses of several cells as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pgrecall.models.service import CellsReport, Census, JobCount, ZoneCount


def summed(censuses: Sequence[Census], cells: CellsReport) -> Census:
    """The figures of the tenants of all these cells together."""
    zones: dict[tuple[str, str | None], int] = {}
    for count in (count for census in censuses for count in census.zones):
        zones[count.layer, count.zone] = zones.get((count.layer, count.zone), 0) + count.memories
    jobs: dict[str, list[JobCount]] = {}
    for job in (job for census in censuses for job in census.jobs):
        jobs.setdefault(job.job, []).append(job)
    return Census(
        tuple(ZoneCount(layer, zone, memories) for (layer, zone), memories in zones.items()),
        sum(census.archived for census in censuses),
        sum(census.awaiting_embedding for census in censuses),
        sum(census.accesses_waiting for census in censuses),
        tuple(_job(name, jobs[name]) for name in sorted(jobs)),
        cells,
    )


def _job(name: str, counts: Iterable[JobCount]) -> JobCount:
    counts = tuple(counts)
    return JobCount(
        name,
        sum(count.tenants for count in counts),
        sum(count.running for count in counts),
        sum(count.failed for count in counts),
        max((count.done_at for count in counts if count.done_at is not None), default=None),
    )
