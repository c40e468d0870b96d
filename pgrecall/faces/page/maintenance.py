"""The maintenance view: jobs and their runs, the tenant's state, and a check of all invariants."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from pgrecall.faces.cli.rendering.jobs import counts_words, interval_words
from pgrecall.faces.page.request_handling import PageRequest

MAX_RUNS = 20


async def maintenance(request: PageRequest) -> Response:
    return await request.render("maintenance.html.j2", **await _values(request), checks=None)


async def verify(request: PageRequest) -> Response:
    """The same view with the result of the checks, which change nothing."""
    checks = await request.memory.verify(now=request.now)
    return await request.render("maintenance.html.j2", **await _values(request), checks=checks)


async def _values(request: PageRequest) -> dict[str, Any]:
    return {
        "state": await request.memory.status(now=request.now),
        "runs": await request.memory.job_runs(limit=MAX_RUNS),
        "problems": await request.service.problems(),
        "running": request.service.queue.running,
        "waiting": request.service.queue.waiting,
        "interval": interval_words,
        "counts": counts_words,
    }
