"""JSON Lines: one memory or one access per line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, field_validator, model_validator

from pgrecall.importers.draft_checks import INDEXED_BYTES, checked_draft, finite
from pgrecall.importers.files import printable_path, require_file
from pgrecall.importers.json_records import KNOWN_FIELDS, Moment, validated_lines
from pgrecall.models.import_export import Problem
from pgrecall.models.memories import Access, AccessKind, Draft, DraftLink, Role, SpeechAct


def _link(value: object) -> object:
    return {"target": value} if isinstance(value, str) else value


class _Line(BaseModel):
    model_config = KNOWN_FIELDS


class _Link(_Line):
    target: str
    relation: str = "links_to"
    weight: float = 1.0


class _Memory(_Line):
    """The fields of Draft as JSON; ``text`` is another name for ``body``."""

    body: str = Field(validation_alias=AliasChoices("body", "text"))
    title: str = ""
    key: str | None = None
    layer: str = "knowledge"
    role: Role | None = None
    author: str | None = None
    context: str = ""
    source: str | None = None
    session_id: str | None = None
    tags: list[str] = []
    aliases: list[str] = []
    metadata: dict[str, Any] = {}
    occurred_at: Moment | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    expires_at: Moment | None = None
    pinned: bool = False
    speech_act: SpeechAct | None = None
    links: list[Annotated[_Link, BeforeValidator(_link)]] = []

    @field_validator("metadata")
    @classmethod
    def _is_json(cls, value: dict[str, Any]) -> dict[str, Any]:
        if not finite(value):
            raise ValueError("contains NaN or Infinity, which are not JSON")
        return value

    def draft(self, source: str, prefix: str) -> Draft:
        values = dict(self)
        values |= {name: tuple(values[name]) for name in ("tags", "aliases")}
        values["links"] = tuple(DraftLink(link.target, link.relation, link.weight) for link in self.links)
        values["key"] = None if self.key is None else prefix + self.key
        values["source"] = self.source or source
        return Draft(**values)


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


def read_jsonl(path: Path, *, source: str, prefix: str = "") -> Iterator[Draft | Problem]:
    """Reads each line as a draft with the fields of ``Draft``; only ``body`` is required.

    Times are ISO 8601, in UTC if they have no zone. A link is a key, title or alias, or an object with
    ``target``, ``relation`` and ``weight``. An invalid line yields a Problem.

    Args:
        path: the file.
        source: the source of records that name none.
        prefix: put before every key, and before link targets that are keys in this file, which is then read
            twice.

    Raises:
        InvalidInput: the file does not exist, or reading it fails.
    """
    require_file(path)
    return _read_drafts(path, source, prefix)


def read_accesses(path: Path) -> Iterator[Access | Problem]:
    """Reads each line as an access: ``{"key": "x", "kind": "read", "at": "2026-09-30T08:12:00+00:00"}``.

    ``id`` can replace ``key``; ``session_id`` and ``idempotency_key`` are optional. Raises InvalidInput if
    the file does not exist.
    """
    require_file(path)
    lines = validated_lines(path, _Access)
    return (line if isinstance(line, Problem) else line[1].access() for line in lines)


def _read_drafts(path: Path, source: str, prefix: str) -> Iterator[Draft | Problem]:
    own_keys = _keys(path) if prefix else frozenset()
    lines_of: dict[str, int] = {}
    for line in validated_lines(path, _Memory):
        if isinstance(line, Problem):
            yield line
            continue
        number, record = line
        draft = record.draft(source, prefix)
        draft = replace(draft, links=tuple(_prefixed(link, prefix, own_keys) for link in draft.links))
        first = lines_of.setdefault(draft.key, number) if draft.key else number
        if first != number:
            yield Problem(
                printable_path(path), f"line {number}: key {record.key!r} is already used on line {first}."
            )
        else:
            yield checked_draft(draft, printable_path(path), f"line {number}")


def _prefixed(link: DraftLink, prefix: str, own_keys: frozenset[str]) -> DraftLink:
    return replace(link, target=prefix + link.target) if link.target in own_keys else link


def _keys(path: Path) -> frozenset[str]:
    lines = validated_lines(path, _Memory)
    return frozenset(line[1].key for line in lines if not isinstance(line, Problem) and line[1].key)
