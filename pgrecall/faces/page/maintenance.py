"""Jobs and health: what a tenant holds, what ran and is due, what raises an alarm, and a check of all."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from pgrecall.faces.cli.rendering.jobs import counts_words, interval_words
from pgrecall.faces.page.request_handling import Visit

RUNS = 20


async def upkeep(visit: Visit) -> Response:
    """The state of the tenant, its jobs, and their newest runs."""
    return await visit.page("upkeep.html.j2", **await _state(visit), checks=None)


async def verify(visit: Visit) -> Response:
    """The same, with every invariant of the tenant's data checked; nothing is changed."""
    checks = await visit.memory.maintenance.verify(now=visit.now)
    return await visit.page("upkeep.html.j2", **await _state(visit), checks=checks)


async def _state(visit: Visit) -> dict[str, Any]:
    return {
        "state": await visit.memory.status(now=visit.now),
        "runs": await visit.memory.jobs.runs(limit=RUNS),
        "unready": await visit.service.unready(),
        "working": visit.service.admission.working,
        "waiting": visit.service.admission.waiting,
        "interval": interval_words,
        "counts": counts_words,
    }
