"""The route for the cursor of changes; those of versions and changes are declared."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import response_model

router = APIRouter(prefix="/v1", route_class=ApiRoute, tags=["history"])


@dataclass(frozen=True, slots=True)
class ChangeCursor:
    """A place in the log of changes."""

    cursor: str


@router.get("/changes/cursor", response_model=response_model(ChangeCursor))
async def change_cursor(memory: TenantMemory) -> ChangeCursor:
    """Return the cursor after the last change.

    To copy a tenant, take it first, then read the memories, then the changes since.
    """
    return ChangeCursor(await memory.history.cursor())
