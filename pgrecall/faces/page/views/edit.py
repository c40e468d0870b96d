"""Adding a memory, and changing one, with forms that keep what was typed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from starlette.responses import Response

from pgrecall.arguments import DraftFields, EditFields
from pgrecall.errors import InvalidInput
from pgrecall.faces.http.problems import problem_type
from pgrecall.faces.page.form_fields import Fields, list_field, text_field, time_field
from pgrecall.faces.page.request_handling import PageRequest, redirect
from pgrecall.faces.page.templating import url
from pgrecall.nouns.memories.models import StoredMemory

FIELDS = (
    "title",
    "body",
    "layer",
    "tags",
    "author",
    "occurred_at",
    "valid_from",
    "valid_until",
    "expires_at",
    "metadata",
)
"""The fields that a form has, in its order."""

_TIMES = ("occurred_at", "valid_from", "valid_until", "expires_at")
UNVERSIONED = ("layer", "expires_at")
"""Fields of the form that versions do not have, so that an undo must contain them."""

_STALE = "This memory was changed while you edited it, so nothing was saved."


async def add_form(request: PageRequest) -> Response:
    """The forms to write a memory and to import files."""
    return await _add(request)


async def add(request: PageRequest) -> Response:
    typed = _typed(request.form)
    key = text_field(request.form, "key")
    try:
        fields = {name: value for name, value in read_fields(typed, FIELDS).items() if name != "body"}
        given = {name: value for name, value in fields.items() if value not in (None, "", (), {})}
        stored = await request.memory.remember(typed["body"], **cast(DraftFields, {**given, "key": key}))
    except InvalidInput as error:
        return await _add(request, typed | {"key": key or ""}, error)
    done = {"created": "added", "updated": "updated", "revived": "restored"}.get(stored.outcome, "known")
    near = stored.similar.id if stored.similar else None
    return redirect(url(f"/memories/{stored.id}", {"done": done, "other": near}))


async def edit_form(request: PageRequest) -> Response:
    stored = await _stored(request)
    return await _edit(request, stored, _texts(stored))


async def edit(request: PageRequest) -> Response:
    """Saves what differs from what is stored, and shows the memory with an undo."""
    stored = await _stored(request)
    before, typed = _texts(stored), _typed(request.form)
    changed = tuple(name for name in FIELDS if name in request.form and typed[name] != before[name])
    if request.form.get("expected", "") != stamp(stored):
        return await _edit(request, stored, typed, InvalidInput(_STALE, hint="Compare, and save it again."))
    present = (await request.memory.history.versions(stored.id, limit=1))[0].number
    try:
        changes = read_fields(typed, changed)
        if "title" in changes:
            changes["title"] = changes["title"] or ""
        outcome = await request.memory.edit(stored.id, now=None, **cast(EditFields, changes))
    except InvalidInput as error:
        return await _edit(request, stored, typed, error)
    if outcome.outcome != "updated":
        return redirect(url(f"/memories/{stored.id}", {"done": "unchanged"}))
    undo = await undo_fields(request, stored, present, changed)
    return redirect(url(f"/memories/{stored.id}", {"done": "edited", **undo}))


async def undo_fields(
    request: PageRequest, before: StoredMemory, version: int, changed: tuple[str, ...]
) -> dict[str, str]:
    """The fields of an undo form: the stored version, and old values that versions do not have."""
    newest = (await request.memory.history.versions(before.id, limit=2))[1:]
    undo = {"version": str(version)} if newest and newest[0].number == version else {}
    if "layer" in changed:
        undo["layer"] = before.layer
    if "expires_at" in changed:
        undo["expires_at"] = before.expires_at.isoformat() if before.expires_at else "none"
    return undo


async def _add(
    request: PageRequest, typed: Mapping[str, str] | None = None, problem: InvalidInput | None = None
) -> Response:
    blank = {**dict.fromkeys(FIELDS, ""), "key": "", "layer": "knowledge"}
    return await request.render(
        "add.html.j2",
        status=200 if problem is None else problem_type(problem).status,
        typed=typed or blank,
        layers=await request.memory.layers.list(),
        problem=problem,
        megabytes=request.service.settings.http_body_bytes / 1_000_000,
    )


async def _edit(
    request: PageRequest, stored: StoredMemory, typed: Mapping[str, str], problem: InvalidInput | None = None
) -> Response:
    return await request.render(
        "edit.html.j2",
        status=200 if problem is None else problem_type(problem).status,
        memory=stored,
        typed=typed,
        layers=await request.memory.layers.list(),
        expected=stamp(stored),
        problem=problem,
    )


async def _stored(request: PageRequest) -> StoredMemory:
    return await request.memory.get(request.path_id("memory"), now=request.now)


def _typed(form: Fields) -> dict[str, str]:
    """The entered text with normalized line ends."""
    return {name: form.get(name, "").replace("\r\n", "\n").strip() for name in FIELDS}


def _texts(memory: StoredMemory) -> dict[str, str]:
    """The fields of a memory as a form shows them."""
    texts = {name: _text(getattr(memory, name)) for name in FIELDS}
    return {name: text.replace("\r\n", "\n").strip() for name, text in texts.items()}


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}".removesuffix(":00").removesuffix(" 00:00")
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return value or ""


def read_fields(typed: Mapping[str, str], names: tuple[str, ...]) -> dict[str, Any]:
    """Parses these fields; ``none`` removes a time.

    Raises:
        InvalidInput: a time or the metadata cannot be read.
    """
    values: dict[str, Any] = {}
    for name in names:
        if name in _TIMES:
            values[name] = None if typed[name] == "none" else time_field(typed, name)
        elif name == "tags":
            values[name] = list_field(typed, name) or ()
        elif name == "metadata":
            values[name] = _object(typed[name])
        else:
            values[name] = typed[name] or None
    return values


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput("The metadata is not JSON.", hint='Write it as {"project": "atlas"}.') from error
    if not isinstance(value, dict):
        raise InvalidInput("The metadata is not a JSON object.", hint='Write it as {"project": "atlas"}.')
    return value


def stamp(memory: StoredMemory) -> str:
    return memory.updated_at.isoformat()
