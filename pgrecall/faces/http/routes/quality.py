"""Routes for the quality of searches: use by rank, experiments, why a memory was missed, replays."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from pgrecall.arguments import RankingChange
from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import Body, OptionalTimestamp, response_model
from pgrecall.nouns.quality.models import Experiment, Miss, Quality, Replay
from pgrecall.nouns.search.models import SearchRequest

router = APIRouter(prefix="/v1", route_class=ApiRoute, tags=["quality"])


@dataclass(frozen=True, slots=True)
class MissedMemory:
    """The memory that was not found.

    Attributes:
        memory: its id or key.
    """

    memory: int | str


@dataclass(frozen=True, slots=True)
class ReplayBounds:
    """Which logged queries to repeat.

    Attributes:
        k: number of hits of each search, 1 to 100.
        since, until: only searches of this period, excluding its end.
        limit: maximum number of searches, newest first, 1 to 1,000.
        moved: maximum number of changed searches in the response, most changed first, 0 to 1,000.
    """

    k: int = 10
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 100
    moved: int = 20


@router.get("/quality", response_model=response_model(Quality))
async def quality(
    memory: TenantMemory,
    since: OptionalTimestamp = None,
    limit: Annotated[
        int, Query(description="Maximum number of searches, newest first.", ge=1, le=100_000)
    ] = 10_000,
    unanswered: Annotated[
        int, Query(description="Maximum number of unanswered queries.", ge=1, le=1000)
    ] = 20,
) -> Quality:
    """Report how often hits of searches were used, and which queries had no answer."""
    return await memory.quality.report(since=since, limit=limit, unanswered=unanswered)


@router.get("/quality/experiment", response_model=response_model(Experiment))
async def experiment(
    memory: TenantMemory,
    number: Annotated[
        int | None, Query(description="Number of the experiment; by default the newest.", ge=1, le=1_000_000)
    ] = None,
    difference: Annotated[
        float, Query(description="Smallest difference of shares that matters.", ge=0.01, le=0.5)
    ] = 0.1,
) -> Experiment:
    """Report how often hits were used in each arm of a randomised experiment, and the conclusion."""
    return await memory.quality.experiment(number, difference=difference)


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
    """Explain why a search does not show a memory: its filters, its rank, and the findings of each arm."""
    return await memory.quality.miss(body.pop("query", ""), body.pop("memory"), **body)


@router.post("/quality/replay", response_model=response_model(Replay))
async def replay(
    memory: TenantMemory,
    body: Annotated[dict[str, Any], Body(RankingChange, ReplayBounds, name="ReplayBody")],
) -> Replay:
    """Replay logged queries with other settings, and report which results would change. Changes nothing."""
    return await memory.quality.replay(**body)
