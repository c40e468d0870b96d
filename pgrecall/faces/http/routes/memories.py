"""Routes for memories: remember, list, get, forget, history, pins, links, supersession and accesses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Path, Query

from pgrecall.arguments import EditFields
from pgrecall.encoding import memory_reference, parse_metadata
from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import (
    Body,
    Changed,
    Counted,
    OptionalTimestamp,
    response_list,
    response_model,
)
from pgrecall.nouns.memories.models import (
    Access,
    Draft,
    ListedMemory,
    ListOrder,
    Remembered,
    SpeechAct,
    VitalityTerms,
)

router = APIRouter(prefix="/v1", route_class=ApiRoute)

Reference = int | str


@dataclass(frozen=True, slots=True)
class DraftBatch:
    """Memories to store together: all of them or none.

    Attributes:
        drafts: the memories, in order.
        keep: false replaces existing memories as a whole; they keep only their accesses and a pin.
        now: time to use instead of the database's clock.
    """

    drafts: tuple[Draft, ...]
    keep: bool = True
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class AccessBatch:
    """Accesses to record.

    Attributes:
        accesses: the accesses, in any order.
        now: time to use instead of the database's clock.
    """

    accesses: tuple[Access, ...]
    now: datetime | None = None


async def _parse_reference(  # a plain function would run in a thread
    memory: Annotated[
        str, Path(description="Digits are an id, anything else is a key; `key:42` is the key 42.")
    ],
) -> Reference:
    return memory_reference(memory)


MemoryReference = Annotated[Reference, Depends(_parse_reference)]
"""A memory's id or key at the end of a path, as keys may contain slashes."""

AnyOf = Annotated[list[str] | None, Query(description="Only memories with one of these.")]
"""A query parameter that may be repeated."""


@router.post("/memories", response_model=response_model(Remembered), tags=["memories"])
async def remember(memory: TenantMemory, draft: Annotated[Draft, Body(Draft)]) -> Remembered:
    """Store a memory; a text that is already stored is not repeated.

    A memory with the same key keeps the fields that are left out; an empty text, list or object clears one.
    `changed` names the fields that changed. `similar` names a memory that it nearly repeats.
    """
    return (await memory.remember_many([draft], compare=True))[0]


@router.post("/memories/batch", response_model=response_list(Remembered), tags=["memories"])
async def remember_many(
    memory: TenantMemory, batch: Annotated[DraftBatch, Body(DraftBatch)]
) -> list[Remembered]:
    """Store many memories in one transaction: all of them or none.

    Memories with the same keys keep what is left out, as in `POST /v1/memories`.
    """
    return await memory.remember_many(batch.drafts, keep=batch.keep, now=batch.now)


@router.get("/memories", response_model=response_list(ListedMemory), tags=["memories"])
async def list_memories(
    memory: TenantMemory,
    layers: AnyOf = None,
    roles: AnyOf = None,
    speech_acts: Annotated[
        list[SpeechAct] | None, Query(description="Only memories that say one of these.")
    ] = None,
    authors: AnyOf = None,
    sources: AnyOf = None,
    tags: Annotated[list[str] | None, Query(description="Only memories with all of these.")] = None,
    metadata: Annotated[
        list[str] | None,
        Query(description="Only memories with this metadata: `key=value` or a JSON object."),
    ] = None,
    hints: Annotated[list[str] | None, Query(description="Only memories with all of these terms.")] = None,
    session_id: Annotated[str | None, Query(description="Only memories of this session.")] = None,
    since: OptionalTimestamp = None,
    until: OptionalTimestamp = None,
    include_archived: bool = False,
    include_superseded: bool = False,
    include_invalid: bool = False,
    order: ListOrder = "newest",
    after: Annotated[str | None, Query(description="`cursor` of the last memory of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    now: OptionalTimestamp = None,
) -> tuple[ListedMemory, ...]:
    """List memories, newest first or by vitality. This does not count as an access.

    Parameters that are lists may be repeated. A page has at most 16 MB of texts and metadata, so it may end
    before its limit. For the next one, give the last `cursor` as `after`; the one after the last is empty.
    """
    return await memory.list(
        layers=_tuple(layers),
        roles=_tuple(roles),
        speech_acts=None if speech_acts is None else tuple(speech_acts),
        authors=_tuple(authors),
        sources=_tuple(sources),
        tags=_tuple(tags),
        metadata=parse_metadata(metadata),
        hints=_tuple(hints),
        session_id=session_id,
        since=since,
        until=until,
        include_archived=include_archived,
        include_superseded=include_superseded,
        include_invalid=include_invalid,
        order=order,
        after=after,
        limit=limit,
        now=now,
    )


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


@router.patch("/memories/{memory:path}", response_model=response_model(Remembered), tags=["memories"])
async def edit(
    memory: TenantMemory,
    reference: MemoryReference,
    changes: Annotated[dict[str, Any], Body(EditFields, name="Changes")],
    now: OptionalTimestamp = None,
) -> Remembered:
    """Change fields of a memory; those left out stay as they are, and null empties a field.

    A new `metadata` replaces the old one as a whole. Links, key, source and accesses stay. `outcome` is
    `updated` or `unchanged`.
    """
    return await memory.edit(reference, now=now, **cast(EditFields, changes))


@router.get("/history/vitality/{memory:path}", response_model=response_model(VitalityTerms), tags=["history"])
async def vitality(
    memory: TenantMemory, reference: MemoryReference, at: OptionalTimestamp = None
) -> VitalityTerms:
    """Return the terms of a memory's vitality, now or at a time in the past."""
    return (
        (await memory.get(reference)).vitality if at is None else await memory.history.vitality(reference, at)
    )


@router.put("/pins/{memory:path}", response_model=response_model(Changed), tags=["memories"])
async def pin(memory: TenantMemory, reference: MemoryReference, now: OptionalTimestamp = None) -> Changed:
    """Pin a memory: no prune plan archives it."""
    return Changed(await memory.pin(reference, True, now=now))


@router.delete("/pins/{memory:path}", response_model=response_model(Changed), tags=["memories"])
async def unpin(memory: TenantMemory, reference: MemoryReference, now: OptionalTimestamp = None) -> Changed:
    """Unpin a memory."""
    return Changed(await memory.pin(reference, False, now=now))


@router.post("/accesses", response_model=response_model(Counted), tags=["memories"])
async def record_accesses(memory: TenantMemory, batch: Annotated[AccessBatch, Body(AccessBatch)]) -> Counted:
    """Record accesses of memories, which raises their vitality; known idempotency keys are not counted."""
    return Counted(await memory.record_accesses(batch.accesses, now=batch.now))
