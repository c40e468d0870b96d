"""Routes for erasures: deleting all memories of a subject for good, by a plan, with a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import Body, NowField, response_model
from pgrecall.nouns.erasure.models import Erasure, Subject

router = APIRouter(prefix="/v1", route_class=ApiRoute, tags=["erasures"])

ErasureId = Annotated[int, Path(description="The id of the erasure.", ge=1, lt=2**63)]
Sample = Annotated[int, Query(description="Remaining memories to return.", ge=0, le=1000)]


@dataclass(frozen=True, slots=True)
class AskedBy:
    """Who asked for an erasure.

    Attributes:
        asked_by: the person who asked for the erasure.
    """

    asked_by: str


@dataclass(frozen=True, slots=True)
class SignedBy:
    """Who signs an erasure, and how much of it is done.

    Attributes:
        signed_by: the person who is responsible for the erasure.
        limit: maximum number of memories to delete, 1 to 10,000; repeat the request until the state is done.
    """

    signed_by: str
    limit: int = 1000


@router.post("/erasures", response_model=response_model(Erasure))
async def plan_erasure(
    memory: TenantMemory,
    subject: Annotated[dict[str, Any], Body(Subject, AskedBy, NowField, name="ErasurePlan")],
    sample: Sample = 10,
) -> Erasure:
    """Plan which memories of a subject to delete for good, with counts and a sample. Nothing is deleted."""
    return await memory.erasure.plan(**subject, sample=sample)


@router.post("/erasures/{erasure}/apply", response_model=response_model(Erasure))
async def apply_erasure(
    memory: TenantMemory,
    erasure: ErasureId,
    signature: Annotated[dict[str, Any], Body(SignedBy, NowField, name="ErasureSignature")],
) -> Erasure:
    """Delete the next memories of an erasure; repeat until its state is done, then it has the report."""
    return await memory.erasure.apply(erasure, **{"limit": 1000, **signature})


@router.delete("/erasures/{erasure}", response_model=response_model(Erasure))
async def drop_erasure(memory: TenantMemory, erasure: ErasureId) -> Erasure:
    """Remove an erasure that has not begun; returns it."""
    plan = await memory.erasure.get(erasure)
    await memory.erasure.drop(erasure)
    return plan
