"""Routes of memories: stored, read, archived, linked, pinned, used."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from pgrecall.faces.http.bodies import Accesses, Changed, Counted, Drafts, NewLink, Supersession
from pgrecall.faces.http.request_guard import GuardedRoute
from pgrecall.faces.http.routes.parameters import Mine, Named
from pgrecall.faces.http.schemas import At, Given, shown, shown_many
from pgrecall.models.memories import Draft, Remembered, StoredMemory, VitalityTerms

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["memories"])


@router.post("/memories", response_model=shown(Remembered))
async def remember(memory: Mine, draft: Annotated[Draft, Given(Draft)]) -> Remembered:
    """Store one memory; one with the same key is updated."""
    return (await memory.remember_many([draft]))[0]


@router.post("/memories/batch", response_model=shown_many(Remembered))
async def remember_many(memory: Mine, batch: Annotated[Drafts, Given(Drafts)]) -> list[Remembered]:
    """Store many memories in one transaction: all of them, or none."""
    return await memory.remember_many(batch.drafts, now=batch.now)


@router.get("/memories/{memory:path}", response_model=shown(StoredMemory))
async def get(mine: Mine, memory: Named, now: At = None) -> StoredMemory:
    """One memory with its vitality and its links. It does not count as a use."""
    return await mine.get(memory, now=now)


@router.delete("/memories/{memory:path}", response_model=shown(Changed))
async def forget(
    mine: Mine,
    memory: Named,
    hard: Annotated[bool, Query(description="Delete it and everything about it, for good.")] = False,
    now: At = None,
) -> Changed:
    """Archive a memory: default search leaves it out. With `hard` it is deleted."""
    return Changed(await mine.forget(memory, hard=hard, now=now))


@router.get("/vitality/{memory:path}", response_model=shown(VitalityTerms))
async def vitality(mine: Mine, memory: Named, at: At = None) -> VitalityTerms:
    """Every term of a memory's vitality, now or at a moment of the past."""
    return (await mine.get(memory)).vitality if at is None else await mine.history.vitality(memory, at)


@router.put("/pins/{memory:path}", response_model=shown(Changed))
async def pin(mine: Mine, memory: Named, now: At = None) -> Changed:
    """Keep a memory out of every prune plan."""
    return Changed(await mine.pin(memory, True, now=now))


@router.delete("/pins/{memory:path}", response_model=shown(Changed))
async def unpin(mine: Mine, memory: Named, now: At = None) -> Changed:
    """Take the pin of a memory away."""
    return Changed(await mine.pin(memory, False, now=now))


@router.post("/links", response_model=shown(Changed))
async def link(memory: Mine, new: Annotated[NewLink, Given(NewLink)]) -> Changed:
    """Link two memories; `changed` says whether the link is new."""
    changed = await memory.link(new.source, new.target, new.relation, weight=new.weight, now=new.now)
    return Changed(changed)


@router.post("/supersede", response_model=shown(Changed))
async def supersede(memory: Mine, pair: Annotated[Supersession, Given(Supersession)]) -> Changed:
    """Say that a memory replaces another, which default search then leaves out."""
    return Changed(await memory.supersede(pair.old, pair.new, now=pair.now))


@router.post("/accesses", response_model=shown(Counted))
async def record_accesses(memory: Mine, uses: Annotated[Accesses, Given(Accesses)]) -> Counted:
    """Log uses of memories, which makes them livelier; counts those whose idempotency key was not seen."""
    return Counted(await memory.record_accesses(uses.accesses, now=uses.now))
