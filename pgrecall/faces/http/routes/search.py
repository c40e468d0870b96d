"""Routes of questions: searches, and blocks of context for a prompt."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from starlette.requests import Request

from pgrecall.faces.http.request_guard import GuardedRoute
from pgrecall.faces.http.routes.parameters import Mine
from pgrecall.faces.http.schemas import Given, shown
from pgrecall.faces.http.service import service_of
from pgrecall.models.context import ContextBlock, ContextRequest
from pgrecall.models.search import SearchRequest, SearchResult

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["questions"])

Question = Annotated[dict[str, Any], Given(SearchRequest)]
ContextQuestion = Annotated[
    dict[str, Any],
    Given(SearchRequest, ContextRequest, without=("count_tokens",), name="ContextQuestion"),
]


@router.post("/search", response_model=shown(SearchResult))
async def search(request: Request, memory: Mine, question: Question) -> SearchResult:
    """The memories that answer a question, best first; what is shown is logged as shown.

    `skipped` says what did not run; `explanation` of each hit why it stands where it does.
    """
    service = service_of(request)
    result = await memory.search(**question)
    service.metrics.searched(result, rerank=bool(question.get("rerank")))
    service.tracing.searched(result.timings)
    return result


@router.post("/context", response_model=shown(ContextBlock))
async def context(memory: Mine, question: ContextQuestion) -> ContextBlock:
    """The memories that answer a question as one text for a prompt, within a budget of tokens."""
    return await memory.context(**question)
