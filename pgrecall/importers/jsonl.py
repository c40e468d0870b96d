"""JSON Lines: one memory or one access per line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, field_validator, model_validator

from pgrecall.importers.draft_checks import INDEXED_BYTES, storable
from pgrecall.importers.fields import ANY, Fields, Rules, add_metadata
from pgrecall.importers.files import printable_path, require_file
from pgrecall.importers.json_records import (
    KNOWN_FIELDS,
    Moment,
    record_lines,
    required_field,
    validated_lines,
)
from pgrecall.importers.other_records import TEXTS
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Access, AccessKind, Draft

_OCCURRED = ("occurred_at", "created_at", "timestamp", "date")
UNKNOWN = "fields that a memory does not have, kept as metadata"


class _Line(BaseModel):
    model_config = KNOWN_FIELDS


class _Access(_Line):
    """An Access as JSON: ``key`` or ``id`` names the memory."""

    key: Annotated[str, Field(min_length=1, max_length=INDEXED_BYTES)] | None = None
    id: Annotated[int, Field(ge=1, lt=2**63)] | None = None
    kind: AccessKind = "read"
    at: Moment | None = None
    session_id: str | None = None
    idempotency_key: str | None = None

    @field_validator("key", "session_id", "idempotency_key")
    @classmethod
    def _is_storable(cls, value: str | None) -> str | None:
        if value and "\0" in value:
            raise ValueError("contains a NUL character")
        return value

    @model_validator(mode="after")
    def _names_one_memory(self) -> _Access:
        if (self.key is None) == (self.id is None):
            raise ValueError("give either key or id")
        return self

    def access(self) -> Access:
        memory = self.key if self.key is not None else self.id
        assert memory is not None
        return Access(memory, self.kind, self.at, self.session_id, self.idempotency_key)


def read_jsonl(
    path: Path, *, source: str, prefix: str = "", rules: Rules = ANY
) -> Iterator[Draft | Problem | Skipped]:
    """Reads each line as a draft with the fields of ``Draft``; only ``body`` is required.

    It may also be called ``text`` or ``content``, and ``occurred_at`` as other programs call it. Times are
    ISO 8601, in UTC if they have no zone. A link is a key, title or alias, or an object with ``target``,
    ``relation`` and ``weight``. A field that is unknown or does not fit becomes metadata, with a notice. A
    line that is no record yields a Problem. A summary (``derived_from`` others) without a key gets one from
    its text.

    Args:
        path: the file.
        source: the source of records that name none.
        prefix: put before every key, and before link targets that are keys in this file, which is then read
            twice.
        rules: what the store takes.

    Raises:
        InvalidInput: the file does not exist, or reading it fails.
    """
    require_file(path)
    return _read_drafts(path, source, prefix, rules)


def read_accesses(path: Path) -> Iterator[Access | Problem]:
    """Reads each line as an access: ``{"key": "x", "kind": "read", "at": "2026-09-30T08:12:00+00:00"}``.

    ``id`` can replace ``key``; ``session_id`` and ``idempotency_key`` are optional. Raises InvalidInput if
    the file does not exist.
    """
    require_file(path)
    lines = validated_lines(path, _Access)
    return (line if isinstance(line, Problem) else line[1].access() for line in lines)


def _read_drafts(path: Path, source: str, prefix: str, rules: Rules) -> Iterator[Draft | Problem | Skipped]:
    own_keys = _keys(path) if prefix else frozenset()
    shown = printable_path(path)
    lines_of: dict[str, int] = {}
    for line in record_lines(path):
        if isinstance(line, Problem | Skipped):
            yield line
            continue
        number, record = line
        place = f"line {number}"
        try:
            draft, notices = _draft(record, source, prefix, own_keys, rules, f"{shown}: {place}")
        except ValueError as error:
            yield Problem(shown, f"{place}: {error}.")
            continue
        first = lines_of.get(draft.key) if draft.key else None
        if first is not None:
            key = (draft.key or "").removeprefix(prefix)
            yield Problem(shown, f"{place}: key {key!r} is already used on line {first}.")
            continue
        if draft.key:
            lines_of[draft.key] = number
        yield from notices
        yield from storable(draft, shown, place, rules)


def _draft(
    record: dict[str, Any], source: str, prefix: str, own_keys: frozenset[str], rules: Rules, at: str
) -> tuple[Draft, list[Skipped]]:
    """The draft of a record, and notices of what became metadata. Raises ValueError if it has no text."""
    fields = Fields(record, rules)
    body = required_field(fields, *TEXTS)
    key = fields.take("key")
    metadata = fields.take("metadata") or {}
    links = fields.take("links") or ()
    draft = Draft(
        body=body,
        title=fields.take("title") or "",
        key=None if key is None else prefix + key,
        layer=fields.take("layer") or "knowledge",
        role=fields.take("role"),
        author=fields.take("author", "author", "sender"),
        context=fields.take("context") or "",
        source=fields.take("source") or source,
        session_id=fields.take("session_id"),
        tags=fields.take("tags") or (),
        aliases=fields.take("aliases") or (),
        occurred_at=fields.take("occurred_at", *_OCCURRED),
        valid_from=fields.take("valid_from"),
        valid_until=fields.take("valid_until"),
        expires_at=fields.take("expires_at"),
        pinned=fields.take("pinned") or False,
        speech_act=fields.take("speech_act"),
        links=tuple(replace(x, target=prefix + x.target) if x.target in own_keys else x for x in links),
    )
    if key is None and any(link.relation == "derived_from" for link in links):
        draft = replace(draft, key=prefix + _key_of_summary(draft))
    kept = dict(metadata)
    for name, value in fields.left.items():
        add_metadata(kept, name, value)
    unknown = len(fields.left) - len(fields.unfit)
    return replace(draft, metadata=kept), [
        *fields.notices(at), *([Skipped(UNKNOWN, unknown, (at,))] if unknown else ()),
    ]  # fmt: skip


def _key_of_summary(draft: Draft) -> str:
    """The same for the same text, so that a summary which is imported again is not stored again."""
    text = f"{draft.title}\x1f{draft.body}".encode("utf-8", "replace")
    return f"summary-{hashlib.sha256(text).hexdigest()[:16]}"


def _keys(path: Path) -> frozenset[str]:
    lines = (line for line in record_lines(path) if isinstance(line, tuple))
    return frozenset(key for _, record in lines if (key := Fields(record).take("key")))
