"""Routes of verdicts: what became of what a search showed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter

from pgrecall.faces.http.bodies import Counted, Verdict
from pgrecall.faces.http.request_guard import GuardedRoute
from pgrecall.faces.http.routes.parameters import Mine
from pgrecall.faces.http.schemas import Given, shown

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["verdicts"])


@router.post("/used", response_model=shown(Counted))
async def used(memory: Mine, verdict: Annotated[Verdict, Given(Verdict)]) -> Counted:
    """Say which of the memories that a search showed were used in an answer."""
    return Counted(await memory.used(verdict.search_id, verdict.memories, now=verdict.now))


@router.post("/rejected", response_model=shown(Counted))
async def rejected(memory: Mine, verdict: Annotated[Verdict, Given(Verdict)]) -> Counted:
    """Say which of the memories that a search showed did not answer."""
    return Counted(await memory.rejected(verdict.search_id, verdict.memories, now=verdict.now))
