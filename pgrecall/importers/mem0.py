"""Exports of mem0: the saved result of ``get_all``, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.turns import role_of
from pgrecall.importers.draft_checks import checked_draft
from pgrecall.importers.files import printable_path, require_file
from pgrecall.importers.json_records import (
    ANY_FIELDS,
    Moment,
    Name,
    first_record,
    load_json,
    records,
    validated,
    without_empty,
)
from pgrecall.importers.text import unique
from pgrecall.models.import_export import Problem
from pgrecall.models.memories import Draft

_LISTS = ("results", "memories")
_HINT = "Save what Memory.get_all() or MemoryClient.get_all() returns, with json.dump."


class _Memory(BaseModel):
    """A memory of mem0; unknown fields become metadata."""

    model_config = ANY_FIELDS

    id: Name = Field(min_length=1)
    memory: str
    user_id: Name | None = None
    agent_id: Name | None = None
    app_id: Name | None = None
    run_id: Name | None = None
    actor_id: Name | None = None
    role: str | None = None
    metadata: dict[str, Any] | None = None
    categories: list[str] | None = None
    created_at: Moment | None = None
    updated_at: Moment | None = None
    expiration_date: Moment | None = None

    def draft(self, source: str, prefix: str, layer: str) -> Draft:
        return Draft(
            body=self.memory.strip(),
            key=f"{prefix}mem0/{self.id}",
            layer=layer,
            role=role_of(self.role or ""),
            author=self.actor_id or self.user_id or self.agent_id,
            source=source,
            session_id=self.run_id,
            tags=unique(self.categories or []),
            metadata={**(self.metadata or {}), "mem0": self._provenance()},
            occurred_at=self.created_at,
            expires_at=self.expiration_date and _end_of(self.expiration_date),
        )

    def _provenance(self) -> dict[str, Any]:
        return without_empty(
            id=self.id,
            user_id=self.user_id,
            agent_id=self.agent_id,
            app_id=self.app_id,
            actor_id=self.actor_id,
            role=self.role,
            updated_at=self.updated_at and self.updated_at.isoformat(),
            **{name: value for name, value in (self.model_extra or {}).items() if name != "score"},
        )


def _end_of(day: datetime) -> datetime:
    """The end of the day on which a memory of mem0 expires."""
    try:
        return day + timedelta(days=1)
    except OverflowError:
        return day


def is_mem0(value: object) -> bool:
    """Whether a JSON value looks like memories of mem0."""
    first = first_record(value, _LISTS)
    return "id" in first and isinstance(first.get("memory"), str)


def read_mem0(
    path: Path, *, source: str, prefix: str = "", layer: str = "knowledge"
) -> Iterator[Draft | Problem]:
    """Reads each memory as a draft from JSON, possibly ``.gz``.

    The file contains a list of memories, an object with the list as ``results``, or a list of such pages.
    Keys are ``mem0/ID``, categories become tags, ``run_id`` the session, and the actor, user or agent the
    author; the rest goes to the metadata.

    Raises:
        InvalidInput: the file is not JSON or contains no memory.
    """
    require_file(path)
    value = load_json(path, "an export of mem0", _HINT)
    if not is_mem0(value) and any(True for _ in records(value, _LISTS)):
        raise InvalidInput(f"{printable_path(path)} contains no memories of mem0.", hint=_HINT)
    return _read(value, path, source, prefix, layer)


def _read(value: object, path: Path, source: str, prefix: str, layer: str) -> Iterator[Draft | Problem]:
    places: dict[str, str] = {}
    for place, record in records(value, _LISTS):
        try:
            memory = validated(record, _Memory)
        except ValueError as error:
            yield Problem(printable_path(path), f"{place}: {error}.")
            continue
        first = places.setdefault(memory.id, place)
        if first != place:
            yield Problem(printable_path(path), f"{place}: id {memory.id[:60]!r} is already used by {first}.")
        else:
            yield checked_draft(memory.draft(source, prefix, layer), printable_path(path), place)
