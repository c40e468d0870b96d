"""Routes for versions of memories, and for what changed since a cursor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.routes.memories import MemoryReference
from pgrecall.faces.http.schemas import Body, response_list, response_model
from pgrecall.nouns.memories.models import Remembered
from pgrecall.nouns.versions.models import Change, ChangeKind, FieldDifference, Version

router = APIRouter(prefix="/v1", route_class=ApiRoute, tags=["versions"])

VersionNumber = Annotated[int, Query(ge=1, lt=2**31)]


@dataclass(frozen=True, slots=True)
class VersionToRestore:
    """Which version to restore.

    Attributes:
        version: the number of the version.
        now: time to use instead of the database's clock.
    """

    version: int
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class ChangeCursor:
    """A place in the log of changes."""

    cursor: str


@router.get("/versions/{memory:path}", response_model=response_list(Version))
async def versions(
    memory: TenantMemory,
    reference: MemoryReference,
    limit: Annotated[int, Query(ge=1, le=1001)] = 50,
    before: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="Only versions with lower numbers.")
    ] = None,
) -> tuple[Version, ...]:
    """List the versions of a memory, newest first, beginning with the current one.

    A page ends before its limit where its texts and metadata would exceed 16 MB. The next page is `before`
    the number of the last version; after the last version it is empty.
    """
    return await memory.versions.list(reference, limit=limit, before=before)


@router.put("/versions/{memory:path}", response_model=response_model(Remembered))
async def restore_version(
    memory: TenantMemory,
    reference: MemoryReference,
    wanted: Annotated[VersionToRestore, Body(VersionToRestore)],
) -> Remembered:
    """Restore the text and fields of a version; the replaced ones become a version.

    Its layer, links, pin and accesses stay, and an archived memory stays archived. `outcome` is `updated` or
    `unchanged`.
    """
    return await memory.versions.restore(reference, wanted.version, now=wanted.now)


@router.get("/differences/{memory:path}", response_model=response_list(FieldDifference))
async def diff_versions(
    memory: TenantMemory,
    reference: MemoryReference,
    earlier: VersionNumber,
    later: VersionNumber | None = None,
) -> tuple[FieldDifference, ...]:
    """Compare two versions of a memory, or one with the current one; texts also word by word."""
    return await memory.versions.diff(reference, earlier, later)


@router.get("/changes", response_model=response_list(Change))
async def changes(
    memory: TenantMemory,
    since: Annotated[
        str | None, Query(max_length=100, description="`cursor` of the last change that was read.")
    ] = None,
    kinds: Annotated[list[ChangeKind] | None, Query(description="Only changes of these kinds.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> tuple[Change, ...]:
    """Read the next changes since a cursor, in order; none is lost or repeated.

    Without `since` it begins with the first change that is kept. The list is empty while nothing has changed.
    """
    return await memory.changes.list(since, limit=limit, kinds=kinds)


@router.get("/changes/cursor", response_model=response_model(ChangeCursor))
async def change_cursor(memory: TenantMemory) -> ChangeCursor:
    """Return the cursor after the last change.

    To copy a tenant, take it first, then read the memories, then the changes since.
    """
    return ChangeCursor(await memory.changes.cursor())
