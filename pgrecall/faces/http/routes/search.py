"""Routes for search, context and feedback on what they returned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Request

from pgrecall.faces.http.authentication import TenantMemory, may_write
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import Body, Counted, response_model
from pgrecall.nouns.context.models import ContextBlock, ContextRequest
from pgrecall.nouns.search.models import SearchRequest, SearchResult

router = APIRouter(prefix="/v1", route_class=ApiRoute)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict on memories that a search returned.

    Attributes:
        search_id: the search.
        memories: ids or keys of the memories.
        now: time to use instead of the database's clock.
    """

    search_id: int
    memories: tuple[int | str, ...]
    now: datetime | None = None


SearchBody = Annotated[dict[str, Any], Body(SearchRequest)]
ContextBody = Annotated[
    dict[str, Any],
    Body(SearchRequest, ContextRequest, without=("count_tokens", "exclude"), name="ContextBody"),
]
VerdictBody = Annotated[Verdict, Body(Verdict)]


@router.post("/search", response_model=response_model(SearchResult), tags=["search"])
async def search(request: Request, memory: TenantMemory, body: SearchBody) -> SearchResult:
    """Search memories, best first. The hits are logged as shown, unless `log` is false.

    `skipped` lists the steps that did not run, and the hits that were left out because the texts of all would
    exceed 16 MB. Each hit's `explanation` has the terms of its score.
    """
    return await memory.search(**_logged(request, body))


@router.post("/context", response_model=response_model(ContextBlock), tags=["search"])
async def context(request: Request, memory: TenantMemory, body: ContextBody) -> ContextBlock:
    """Search memories and return them as one text for a prompt, within a budget of tokens."""
    return await memory.context(**_logged(request, body))


@router.post("/feedback/used", response_model=response_model(Counted), tags=["feedback"])
async def used(memory: TenantMemory, verdict: VerdictBody) -> Counted:
    """Mark memories that a search returned as used; returns how many verdicts are new."""
    return Counted(await memory.used(verdict.search_id, verdict.memories, now=verdict.now))


@router.post("/feedback/rejected", response_model=response_model(Counted), tags=["feedback"])
async def rejected(memory: TenantMemory, verdict: VerdictBody) -> Counted:
    """Mark memories that a search returned as wrong answers; returns how many verdicts are new."""
    return Counted(await memory.rejected(verdict.search_id, verdict.memories, now=verdict.now))


def _logged(request: Request, body: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a search; it is not logged for a key that may only read."""
    return body if may_write(request.headers) else body | {"log": False}
