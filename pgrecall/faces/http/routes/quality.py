"""Routes for the quality of searches: use by rank, experiments, why a memory was missed, replays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import Body, response_model
from pgrecall.nouns.quality.models import Miss
from pgrecall.nouns.search.models import SearchRequest

router = APIRouter(prefix="/v1", route_class=ApiRoute, tags=["quality"])


@dataclass(frozen=True, slots=True)
class MissedMemory:
    """The memory that was not found.

    Attributes:
        memory: its id or key.
    """

    memory: int | str


@router.post("/quality/miss", response_model=response_model(Miss))
async def miss(
    memory: TenantMemory,
    body: Annotated[
        dict[str, Any],
        Body(
            SearchRequest,
            MissedMemory,
            without=("plan", "rerank", "deadline", "log", "explain", "conversation"),
            name="MissBody",
        ),
    ],
) -> Miss:
    """Explain why a search does not show a memory: its filters, its rank, and what each arm found."""
    return await memory.quality.miss(body.pop("query", ""), body.pop("memory"), **body)
