"""What the doctor says of upkeep: jobs, statistics, embeddings, and the alarms of the database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pgrecall.faces.doctor.findings import Finding
from pgrecall.models.jobs import JobStatus
from pgrecall.models.maintenance import Status

STALE_STATISTICS = timedelta(days=2)


def on_jobs(state: Status, now: datetime) -> Iterator[Finding]:
    """When each job ran last, which ones failed, and whether a worker is at work."""
    for job in state.jobs:
        if job.state == "failed" and job.last is not None:
            reason = (job.last.error or "").splitlines()
            yield Finding(
                "jobs", "fail", f"The job {job.name} failed {_ago(job.last.finished_at, now)}: "
                f"{reason[0] if reason else 'no reason is known'}", f"pgrecall job run {job.name}",
            )  # fmt: skip
    overdue = [job.name for job in state.jobs if job.state == "overdue"]
    ran = [job for job in state.jobs if job.last is not None]
    if overdue:
        yield Finding(
            "jobs", "warn", f"No worker seems to run; overdue: {', '.join(overdue)}.", "pgrecall worker"
        )
    elif not ran and state.memories:
        yield Finding("jobs", "warn", "No job has ever run.", "pgrecall worker")
    if ran:
        yield Finding("jobs", "ok", f"Last runs: {', '.join(_last(job, now) for job in ran)}.")
    elif not state.memories:
        yield Finding("jobs", "ok", "Nothing is stored yet, so no job had anything to do.")


def on_memories(state: Status, now: datetime) -> Iterator[Finding]:
    """Whether what is stored can be found: embeddings, statistics, and alarms."""
    stored = f"{state.memories:,} live memories of tenant {state.tenant}"
    if state.awaiting_embedding:
        yield Finding(
            "memories", "warn", f"{state.awaiting_embedding:,} memories have no embedding yet.",
            "pgrecall job run embed",
        )  # fmt: skip
    old = state.statistics_at is None or now - state.statistics_at > STALE_STATISTICS
    if state.memories and old:
        since = f"counted {_ago(state.statistics_at, now)}" if state.statistics_at else "never counted"
        yield Finding("memories", "warn", f"How rare words are was {since}.", "pgrecall job run statistics")
    for alarm in state.alarms:
        yield Finding("memories", "warn", alarm, "pgrecall status")
    if not state.awaiting_embedding and not old:
        counted = _ago(state.statistics_at, now)
        yield Finding("memories", "ok", f"{stored}, all embedded, words counted {counted}.")
    elif not state.memories:
        yield Finding("memories", "ok", "Nothing is stored yet.")


def _last(job: JobStatus, now: datetime) -> str:
    assert job.last is not None
    return f"{job.name} {_ago(job.last.started_at, now)}"


def _ago(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "just now"
    minutes = max((now - at.astimezone(UTC)).total_seconds() / 60, 0)
    for size, unit in ((1440, "d"), (60, "h"), (1, "min")):
        if minutes >= size:
            return f"{minutes / size:.0f} {unit} ago"
    return "just now"
