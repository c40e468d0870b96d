"""Routes for imports: a file is sent as the body; its import can be followed, listed and undone."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from fastapi import APIRouter, Path, Query
from starlette.exceptions import HTTPException
from starlette.requests import Request

from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.imports import NAME, Import, ImportOptions, checked_name
from pgrecall.faces.http.request_handling import UploadRoute
from pgrecall.faces.http.schemas import OptionalTimestamp, response_model
from pgrecall.faces.http.service import get_service
from pgrecall.importers.detect import SourceKind

router = APIRouter(prefix="/v1", route_class=UploadRoute, tags=["imports"])

FILE = {
    "requestBody": {
        "required": True,
        "description": "The bytes of the file.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post("/imports", response_model=response_model(Import), openapi_extra=FILE)
async def import_file(
    request: Request,
    memory: TenantMemory,
    name: Annotated[
        str, Query(description="Name of the file; its ending determines its format.", pattern=NAME)
    ],
    kind: Annotated[
        SourceKind | Literal["export"], Query(description="Format, where it cannot be detected.")
    ] = "auto",
    layer: Annotated[str | None, Query(description="Layer of notes and turns without one.")] = None,
    source: Annotated[
        str | None, Query(description="Name to remember the import by; by default the file.")
    ] = None,
    prefix: Annotated[str, Query(description="Prefix of every key.", max_length=500)] = "",
    tools: Annotated[bool, Query(description="With chats: keep tool calls and their results.")] = False,
    keep_secrets: Annotated[
        bool, Query(description="With chats: keep passwords, keys and tokens, which are replaced otherwise.")
    ] = False,
    strict: Annotated[bool, Query(description="Refuse the whole file if any part of it is invalid.")] = False,
    now: Annotated[
        OptionalTimestamp,
        Query(description="Time to use instead of the clock, except for an export, which has its own times."),
    ] = None,
    wait: Annotated[bool, Query(description="Wait until the import is done; false responds at once.")] = True,
) -> Import:
    """Import a file: chats, notes, records, or an export of pgrecall, as `pgrecall import` does.

    The body is the file. It is read whole before anything is stored. An export is stored whole or not at all;
    of another file, what could not be used is counted in `report.problems`. The import goes on if the
    connection is lost. A second import of the same file changes nothing.
    """
    options = ImportOptions(cast(SourceKind, kind), layer, source, prefix, tools, keep_secrets, strict, now)
    imports = get_service(request).imports
    data = await request.body()
    if not data:
        raise HTTPException(400, "The body is empty; send the bytes of the file.")
    made = await imports.start(memory, checked_name(name), data, options)
    if wait:
        await imports.wait(memory, made)
    return made


@router.get("/imports/{number}", response_model=response_model(Import))
async def get_import(
    request: Request,
    memory: TenantMemory,
    number: Annotated[int, Path(description="The `id` in the response to the file.", ge=1, lt=2**63)],
) -> Import:
    """Return an import: how far it is, or its result. A restart of the service forgets imports."""
    found = get_service(request).imports.get(memory.tenant, number)
    if found is None:
        raise HTTPException(404, f"There is no import {number}, or the service was restarted since.")
    return found
