"""Runs jobs in processes that can be killed: reads requests, forks for each, kills it when asked to.

A request is a JSON line {url, job, tenant, now, batch, embedder, kill_after}; the answer a JSON line
{began, state, seconds}: whether the run got its lock, its end (null if it was killed), how long it took.
Importing takes longer than most jobs, so it is done once, here, before any fork; no connection is open then.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from dataclasses import replace
from datetime import datetime
from typing import Any

from pgrecall.database.pool import Database
from pgrecall.jobs.catalogue import job_named
from pgrecall.jobs.job import JobContext
from pgrecall.jobs.runner import Runner
from pgrecall.search.embed.embedder import HashEmbedder

PATIENCE = 200.0
"""Seconds for a connection; this program imports nothing of the tests."""


def run(request: dict[str, Any], told: int) -> None:
    """Runs the job, and says so as soon as it has begun."""
    job = job_named(request["job"])

    def announced(context: JobContext) -> None:
        os.write(told, b"began\n")
        job.run(context)

    embedder = HashEmbedder(64)
    embedder.name = request["embedder"]
    database = Database(request["url"], connect_timeout=PATIENCE)
    runner = Runner(database, embedder=embedder, pauses=(), batch=request["batch"])
    now = datetime.fromisoformat(request["now"])
    [outcome] = runner.sweep(replace(job, run=announced), [request["tenant"]], now=now)
    os.write(told, json.dumps([outcome.state, outcome.error]).encode())


def perform(request: dict[str, Any]) -> dict[str, Any]:
    """Runs the job in a process of its own, killed ``kill_after`` seconds after it began."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        run(request, writing)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        first = told.readline()
        began = first == "began\n"
        started = time.monotonic()
        if began and request["kill_after"] is not None:
            select.select([told], [], [], request["kill_after"])  # what has ended by then need not be killed
            os.kill(child, signal.SIGKILL)
        state = told.read() if began else first
        seconds = time.monotonic() - started
    os.waitpid(child, 0)
    return {"began": began, "state": json.loads(state) if state else None, "seconds": seconds}


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(perform(json.loads(line))) + "\n")
        sys.stdout.flush()
