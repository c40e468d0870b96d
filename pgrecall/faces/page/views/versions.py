"""Versions of a memory: the list, the difference between two, and restoring one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pgrecall.arguments import EditFields
from pgrecall.errors import InvalidInput
from pgrecall.faces.page.form_fields import int_field, path_id
from pgrecall.faces.page.request_handling import PageRequest, redirect
from pgrecall.faces.page.templating import url
from pgrecall.faces.page.views.edit import UNVERSIONED, read_fields, stamp, undo_fields
from pgrecall.models.versions import FieldDifference, Version
from pgrecall.operations.versions import MOST

_LARGEST = 2**31 - 1
_STALE = "This memory was changed since this form was shown, so nothing was restored."


async def versions(request: PageRequest) -> Response:
    """All that a memory said, newest first."""
    stored = await request.memory.get(_id(request), now=request.now)
    return await request.render(
        "versions.html.j2",
        memory=stored,
        versions=await request.memory.versions.list(stored.id, limit=MOST),
    )


async def version(request: PageRequest) -> Response:
    """One version, and what differs from another: the present, or for the present the one before."""
    stored = await request.memory.get(_id(request), now=request.now)
    number = path_id(request.request.path_params["version"], "version")
    known = {each.number: each for each in await request.memory.versions.list(stored.id, limit=MOST)}
    if number not in known:
        raise HTTPException(404, f"This memory has no version {number}, or no longer.")
    newest = max(known)
    other = int_field(request.query, "with", 0, low=1, high=_LARGEST) or _other(number, known)
    if other is not None and other not in known:
        raise HTTPException(404, f"This memory has no version {other}, or no longer.")
    differences: tuple[FieldDifference, ...] = ()
    if other is not None and other != number:
        ends = sorted((number, other))
        differences = await request.memory.versions.diff(stored.id, *ends)
    return await request.render(
        "version.html.j2",
        memory=stored,
        version=known[number],
        newest=newest,
        other=other,
        before=number - 1 if number - 1 in known else None,
        after=number + 1 if number + 1 in known else None,
        differences=[(each, _shown(each.earlier), _shown(each.later)) for each in differences],
        expected=stamp(stored),
    )


async def restore(request: PageRequest) -> Response:
    """Restores a version of a memory, and the fields that versions do not keep."""
    stored = await request.memory.get(_id(request), now=request.now)
    number = int_field(request.form, "version", 0, low=1, high=_LARGEST)
    if request.form.get("expected", "") != stamp(stored):
        raise InvalidInput(_STALE, hint="Look at it again before you restore.")
    unversioned = read_fields(request.form, tuple(name for name in UNVERSIONED if name in request.form))
    present = (await request.memory.versions.list(stored.id, limit=1))[0].number
    await request.memory.versions.restore(stored.id, number)
    if unversioned:
        await request.memory.edit(stored.id, **cast(EditFields, unversioned))
    undo = await undo_fields(request, stored, present, tuple(unversioned))
    return redirect(url(f"/memories/{stored.id}", {"done": "returned", "other": number, **undo}))


def _other(number: int, known: Mapping[int, Version]) -> int | None:
    """The version to compare one with: the present; for the present the newest that is older."""
    newest = max(known)
    return newest if number != newest else max((each for each in known if each < number), default=None)


def _shown(value: Any) -> str:
    """The value of a field as text; empty where there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(str(each) for each in value)
    return json.dumps(value, ensure_ascii=False) if value else ""


def _id(request: PageRequest) -> int:
    return path_id(request.request.path_params["memory"], "memory")
