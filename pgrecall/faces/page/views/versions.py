"""Versions of a memory: the list, the difference between two, and restoring one."""

from __future__ import annotations

import json
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pgrecall.arguments import EditFields
from pgrecall.encoding import MAX_INTEGER
from pgrecall.errors import InvalidInput
from pgrecall.faces.page.form_fields import int_field
from pgrecall.faces.page.request_handling import PageRequest, redirect
from pgrecall.faces.page.templating import url
from pgrecall.faces.page.views.edit import UNVERSIONED, read_fields, stamp, undo_fields
from pgrecall.nouns.history.models import FieldDifference, Version

PAGE = 50
_STALE = "This memory was changed since this form was shown, so nothing was restored."


async def versions(request: PageRequest) -> Response:
    """Lists the versions of a memory, newest first, page by page."""
    stored = await request.memory.get(request.path_id("memory"), now=request.now)
    before = int_field(request.query, "before", 0, low=1, high=MAX_INTEGER) or None
    found = await request.memory.history.versions(stored.id, limit=PAGE, before=before)
    older = found and await request.memory.history.versions(stored.id, limit=1, before=found[-1].number)
    return await request.render(
        "versions.html.j2",
        memory=stored,
        versions=found,
        before=before,
        older=found[-1].number if older else None,
    )


async def version(request: PageRequest) -> Response:
    """Shows one version and its difference from the current one, or of the current one from the previous."""
    stored = await request.memory.get(request.path_id("memory"), now=request.now)
    number = request.path_id("version")
    near = await _versions_near(request, stored.id, number)
    [present] = await request.memory.history.versions(stored.id, limit=1)
    before = max((each for each in near if each < number), default=None)
    other = int_field(request.query, "with", 0, low=1, high=MAX_INTEGER) or None
    if other is None:
        other = before if number == present.number else present.number
    else:
        await _versions_near(request, stored.id, other)
    differences: tuple[FieldDifference, ...] = ()
    if other is not None and other != number:
        ends = sorted((number, other))
        differences = await request.memory.history.diff(stored.id, *ends)
    return await request.render(
        "version.html.j2",
        memory=stored,
        version=near[number],
        newest=present.number,
        other=other,
        before=before,
        after=number + 1 if number + 1 in near else None,
        differences=[(each, _shown(each.earlier), _shown(each.later)) for each in differences],
        expected=stamp(stored),
    )


async def restore(request: PageRequest) -> Response:
    """Restores a version of a memory, and the fields that versions do not keep."""
    stored = await request.memory.get(request.path_id("memory"), now=request.now)
    number = int_field(request.form, "version", 0, low=1, high=MAX_INTEGER)
    if request.form.get("expected", "") != stamp(stored):
        raise InvalidInput(_STALE, hint="Look at it again before you restore.")
    unversioned = read_fields(request.form, tuple(name for name in UNVERSIONED if name in request.form))
    present = (await request.memory.history.versions(stored.id, limit=1))[0].number
    await request.memory.history.restore(stored.id, number)
    if unversioned:
        await request.memory.edit(stored.id, **cast(EditFields, unversioned))
    undo = await undo_fields(request, stored, present, tuple(unversioned))
    return redirect(url(f"/memories/{stored.id}", {"done": "returned", "other": number, **undo}))


async def _versions_near(request: PageRequest, memory: int, number: int) -> dict[int, Version]:
    """A version, the next if there is one, and the one or two before."""
    newest_first = await request.memory.history.versions(memory, limit=3, before=min(number + 2, MAX_INTEGER))
    near = {each.number: each for each in newest_first}
    if number not in near:
        raise HTTPException(404, f"This memory has no version {number}, or no longer.")
    return near


def _shown(value: Any) -> str:
    """The value of a field as text; empty where there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(str(each) for each in value)
    return json.dumps(value, ensure_ascii=False) if value else ""
