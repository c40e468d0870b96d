"""Exports of mem0: the saved result of ``get_all``, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.turns import name_from
from pgrecall.importers.draft_checks import storable
from pgrecall.importers.fields import ANY, Fields, Rules
from pgrecall.importers.files import printable_path, require_file
from pgrecall.importers.json_records import (
    first_records,
    load_json,
    record_fields,
    records,
    required_field,
    without_empty,
)
from pgrecall.importers.text import unique
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft

RELATIONS = "relations between entities, which no memory of the export is part of"
_LISTS = ("results", "memories")
_HINT = "Save what Memory.get_all() or MemoryClient.get_all() returns, with json.dump."


def _draft(fields: Fields, source: str, prefix: str, layer: str) -> Draft:
    """The draft of a memory of mem0; what is left of its fields becomes metadata.

    Raises:
        ValueError: it has no text.
    """
    body = required_field(fields, "memory").strip()
    own = fields.take("key", "id")
    names = {name: fields.take("author", name) for name in ("user_id", "agent_id", "app_id", "actor_id")}
    role, metadata = fields.take("role"), fields.take("metadata") or {}
    updated, expires = fields.take("moment", "updated_at"), fields.take("expires_at", "expiration_date")
    provenance = without_empty(id=own, **names, role=role, updated_at=updated and updated.isoformat())
    draft = Draft(
        body=body,
        key=f"{prefix}mem0/{own or name_from(body)}",
        layer=layer,
        role=role,
        author=names["actor_id"] or names["user_id"] or names["agent_id"],
        source=source,
        session_id=fields.take("session_id", "run_id"),
        tags=unique(list(fields.take("tags", "categories") or ())),
        occurred_at=fields.take("occurred_at", "created_at"),
        expires_at=expires and _end_of(expires),
    )
    left = {name: value for name, value in fields.left.items() if name != "score"}
    return replace(draft, metadata={**metadata, "mem0": provenance | without_empty(**left)})


def _end_of(day: datetime) -> datetime:
    """The end of the day on which a memory of mem0 expires."""
    try:
        return day + timedelta(days=1)
    except OverflowError:
        return day


def is_mem0(value: object) -> bool:
    """Whether a JSON value looks like memories of mem0."""
    return any("id" in one and isinstance(one.get("memory"), str) for one in first_records(value, _LISTS))


def read_mem0(
    path: Path, *, source: str, prefix: str = "", layer: str = "knowledge", rules: Rules = ANY
) -> Iterator[Draft | Problem | Skipped]:
    """Reads each memory as a draft from JSON, possibly ``.gz``.

    The file contains a list of memories, an object with the list as ``results``, or a list of such pages.
    Keys are ``mem0/ID``, categories become tags, ``run_id`` the session, and the actor, user or agent the
    author; the rest goes to the metadata.

    Raises:
        InvalidInput: the file is not JSON or contains no memory.
    """
    require_file(path)
    notices: list[Skipped] = []
    value = load_json(path, "an export of mem0", _HINT, notices)
    if not is_mem0(value) and any(True for _ in records(value, _LISTS)):
        raise InvalidInput(f"{printable_path(path)} contains no memories of mem0.", hint=_HINT)
    return chain(notices, _read(value, path, source, prefix, layer, rules))


def _read(
    value: object, path: Path, source: str, prefix: str, layer: str, rules: Rules
) -> Iterator[Draft | Problem | Skipped]:
    shown = printable_path(path)
    places: dict[str, str] = {}
    for place, record in records(value, _LISTS):
        try:
            fields = record_fields(record, rules)
            draft = _draft(fields, source, prefix, layer)
        except ValueError as error:
            yield Problem(shown, f"{place}: {error}.")
            continue
        assert draft.key is not None
        first = places.setdefault(draft.key, place)
        if first != place:
            own = draft.key.removeprefix(f"{prefix}mem0/")
            yield Problem(shown, f"{place}: id {own[:60]!r} is already used by {first}.")
            continue
        yield from fields.notices(f"{shown}: {place}")
        yield from storable(draft, shown, place, rules)
    pages = value if isinstance(value, list) else [value]
    relations = (page.get("relations") for page in pages if isinstance(page, dict))
    if count := sum(len(found) for found in relations if isinstance(found, list)):
        yield Skipped(RELATIONS, count, (shown,))
