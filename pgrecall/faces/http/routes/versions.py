"""Routes for versions of memories, and for what changed since a cursor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import response_model

router = APIRouter(prefix="/v1", route_class=ApiRoute, tags=["versions"])

VersionNumber = Annotated[int, Query(ge=1, lt=2**31)]


@dataclass(frozen=True, slots=True)
class ChangeCursor:
    """A place in the log of changes."""

    cursor: str


@router.get("/changes/cursor", response_model=response_model(ChangeCursor))
async def change_cursor(memory: TenantMemory) -> ChangeCursor:
    """Return the cursor after the last change.

    To copy a tenant, take it first, then read the memories, then the changes since.
    """
    return ChangeCursor(await memory.changes.cursor())
