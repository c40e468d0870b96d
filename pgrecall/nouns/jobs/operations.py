"""Runs and states of jobs, and the steps of jobs without a client method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pgrecall.encoding import embedding_item, require_text, to_json
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.jobs.models import JobRun
from pgrecall.nouns.operation import NOW, Operation, Row, read_bool, read_int, read_value


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job's interval, due time and newest run."""

    job: str
    minutes: float | None
    due_at: datetime | None
    last: JobRun | None
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A memory without a vector, and the digest of its text."""

    id: int
    title: str
    body: str
    content_hash: str


def begin_job(job: str, *, whole: bool, attempt: int) -> Operation[int | None]:
    """Starts a run and locks it on this connection; returns None if another session is running it."""
    return Operation(
        "SELECT recall.begin_job(%(job)s, %(whole)s, %(attempt)s)",
        {"job": job, "whole": whole, "attempt": attempt},
        read_value,
    )


def report_job(run: int, done: int, counts: Mapping[str, int], *, whole: bool) -> Operation[None]:
    """Records the progress of a run."""
    return Operation(
        "SELECT recall.report_job(%(run)s, %(done)s, %(counts)s, %(whole)s)",
        {"run": run, "done": done, "counts": to_json(counts), "whole": whole},
        lambda _: None,
    )


def end_job(
    run: int, state: str, done: int, counts: Mapping[str, int], error: str | None, *, whole: bool
) -> Operation[bool]:
    """Ends a run and releases its lock; returns False if it had already ended."""
    return Operation(
        "SELECT recall.end_job(%(run)s, %(state)s, %(done)s, %(counts)s, %(error)s, %(whole)s)",
        {
            "run": run,
            "state": state,
            "done": done,
            "counts": to_json(counts),
            "error": error,
            "whole": whole,
        },
        read_bool,
    )


def job_states(
    jobs: Sequence[str], whole: Sequence[str], now: datetime | None
) -> Operation[tuple[JobRow, ...]]:
    """Reads the interval, due time and newest run of jobs; those in ``whole`` serve the whole database."""
    return Operation(
        f"SELECT * FROM recall.job_states(%(jobs)s, %(whole)s, {NOW})",
        {"jobs": list(jobs), "whole": list(whole), "now": now},
        lambda rows: tuple(_job_row(row) for row in rows),
        repeatable=True,
    )


def tenants() -> Operation[tuple[str, ...]]:
    """Lists every tenant with memories or waiting accesses."""
    return Operation(
        "SELECT * FROM recall.tenants() AS tenant", {}, lambda rows: _texts(rows, "tenant"), repeatable=True
    )


def due_tenants(job: str, *, whole: bool) -> Operation[tuple[str, ...]]:
    """Lists the tenants a job is due for, longest waiting first; ``*`` for a job of the whole database."""
    return Operation(
        "SELECT * FROM recall.due_tenants(%(job)s, %(whole)s) AS tenant",
        {"job": job, "whole": whole},
        lambda rows: _texts(rows, "tenant"),
        repeatable=True,
    )


def job_intervals(jobs: Sequence[str]) -> Operation[dict[str, float | None]]:
    """Reads the shortest interval of each of these jobs over all tenants, in minutes; None if it is off."""
    return Operation(
        "SELECT j AS job, recall.shortest_job_interval(j) AS minutes FROM unnest(%(jobs)s::text[]) j",
        {"jobs": list(jobs)},
        lambda rows: {row["job"]: row["minutes"] for row in rows},
        repeatable=True,
    )


def unembedded(
    after: int, limit: int, model: str | None, *, tokens: bool = False, passages: bool = False
) -> Operation[tuple[Unembedded, ...]]:
    """Reads memories after this id that have no vector or, with ``model``, none of that model.

    With ``tokens``, reads those with a vector of the model but no token signs; with ``passages``, those with
    a vector that were never checked for passages.
    """
    return Operation(
        "SELECT * FROM recall.unembedded(%(after)s, %(limit)s, %(model)s, %(tokens)s, %(passages)s)",
        {"after": after, "limit": limit, "model": model, "tokens": tokens, "passages": passages},
        lambda rows: tuple(read_as(Unembedded, row) for row in rows),
        repeatable=True,
    )


def count_unembedded(model: str | None, *, tokens: bool = False, passages: bool = False) -> Operation[int]:
    """Counts all the memories that :func:`unembedded` reads."""
    return Operation(
        "SELECT recall.count_unembedded(%(model)s, %(tokens)s, %(passages)s)",
        {"model": model, "tokens": tokens, "passages": passages},
        read_int,
        repeatable=True,
    )


def store_embeddings(made: Sequence[tuple[Unembedded, Embedded]], model: str) -> Operation[int]:
    """Stores vectors of texts that have not changed since they were read; returns how many."""
    items = [
        {"id": memory.id, "content_hash": memory.content_hash, **embedding_item(embedded)}
        for memory, embedded in made
    ]
    return Operation(
        "SELECT recall.store_embeddings(%(items)s, %(model)s)",
        {"items": to_json(items), "model": model},
        read_int,
        repeatable=True,
    )


def begin_reembedding(model: str, dimensions: int) -> Operation[str | None]:
    """Sets the embedder of the database; returns the previous one."""
    require_text(model, "The embedder's name")
    return Operation(
        "SELECT recall.begin_reembedding(%(model)s, %(dimensions)s)",
        {"model": model, "dimensions": dimensions},
        read_value,
        repeatable=True,
    )


def _job_row(row: Row) -> JobRow:
    last = row["last"]
    run = _run_of_json(last) if last else None
    return JobRow(row["job"], row["minutes"], row["due_at"], run, row["asked_at"])


def _run_of_json(document: Mapping[str, Any]) -> JobRun:
    finished = document["finished_at"]
    times = {
        "started_at": datetime.fromisoformat(document["started_at"]),
        "finished_at": datetime.fromisoformat(finished) if finished else None,
    }
    return read_as(JobRun, dict(document) | times)


def _texts(rows: Sequence[Row], name: str) -> tuple[str, ...]:
    return tuple(row[name] for row in rows)
