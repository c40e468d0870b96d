"""JSON Lines: one memory, or one access, a line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from pgrecall.importers.checks import INDEXED_BYTES, checked
from pgrecall.importers.dates import parse_time
from pgrecall.importers.files import LARGEST_BYTES, read_lines, require_file, show
from pgrecall.models import Access, AccessKind, Draft, DraftLink, Problem, Role


def _moment(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("should be a text in ISO 8601, such as 2026-09-30T08:12:00+00:00")
    return parse_time(value)


def _link(value: object) -> object:
    return {"target": value} if isinstance(value, str) else value


Moment = Annotated[datetime, BeforeValidator(_moment)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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
    links: list[Annotated[_Link, BeforeValidator(_link)]] = []

    @field_validator("metadata")
    @classmethod
    def _is_json(cls, value: dict[str, Any]) -> dict[str, Any]:
        if not _finite(value):
            raise ValueError("holds NaN or Infinity, which are not JSON")
        return value

    def draft(self, source: str, prefix: str) -> Draft:
        values = dict(self)
        values |= {name: tuple(values[name]) for name in ("tags", "aliases")}
        values["links"] = tuple(DraftLink(link.target, link.relation, link.weight) for link in self.links)
        values["key"] = None if self.key is None else prefix + self.key
        values["source"] = self.source or source
        return Draft(**values)


class _Use(_Line):
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
            raise ValueError("holds a NUL character")
        return value

    @model_validator(mode="after")
    def _names_one_memory(self) -> _Use:
        if (self.key is None) == (self.id is None):
            raise ValueError("give either key or id")
        return self

    def access(self) -> Access:
        memory = self.key if self.key is not None else self.id
        assert memory is not None
        return Access(memory, self.kind, self.at, self.session_id, self.idempotency_key)


AnyLine = TypeVar("AnyLine", bound=_Line)


def read_jsonl(path: Path, *, source: str, prefix: str = "") -> Iterator[Draft | Problem]:
    """Each line of the file as a draft; the fields are Draft's own, and ``body`` is the one required.

    Times are ISO 8601, without a zone UTC. A link is a key, title or alias, or an object with
    ``target``, ``relation`` and ``weight``. A record's own ``source`` goes before the argument.
    ``prefix`` is put before every key, and before link targets that are keys of this file (which is
    then read twice). A bad line gives a Problem. Raises InvalidInput at once when there is no such
    file, and while reading when it breaks off.
    """
    require_file(path)
    return _read_drafts(path, source, prefix)


def read_accesses(path: Path) -> Iterator[Access | Problem]:
    """Each line as an access: ``{"key": "x", "kind": "read", "at": "2026-09-30T08:12:00+00:00"}``.

    ``id`` may stand in place of ``key``; ``session_id`` and ``idempotency_key`` are optional. Raises
    InvalidInput when there is no such file.
    """
    require_file(path)
    return (line if isinstance(line, Problem) else line[1].access() for line in _validated(path, _Use))


def _read_drafts(path: Path, source: str, prefix: str) -> Iterator[Draft | Problem]:
    own_keys = _keys(path) if prefix else frozenset()
    lines_of: dict[str, int] = {}
    for line in _validated(path, _Memory):
        if isinstance(line, Problem):
            yield line
            continue
        number, record = line
        draft = record.draft(source, prefix)
        draft = replace(draft, links=tuple(_prefixed(link, prefix, own_keys) for link in draft.links))
        first = lines_of.setdefault(draft.key, number) if draft.key else number
        if first != number:
            yield Problem(show(path), f"line {number}: key {record.key!r} was already given on line {first}.")
        else:
            yield checked(draft, show(path), f"line {number}")


def _prefixed(link: DraftLink, prefix: str, own_keys: frozenset[str]) -> DraftLink:
    return replace(link, target=prefix + link.target) if link.target in own_keys else link


def _keys(path: Path) -> frozenset[str]:
    return frozenset(
        line[1].key for line in _validated(path, _Memory) if not isinstance(line, Problem) and line[1].key
    )


def _validated(path: Path, shape: type[AnyLine]) -> Iterator[tuple[int, AnyLine] | Problem]:
    for number, data in read_lines(path):
        if data is None:
            yield Problem(show(path), f"line {number}: longer than {LARGEST_BYTES // 1_000_000} MB.")
        elif data.strip():
            try:
                yield number, shape.model_validate_json(_utf8(data))
            except ValidationError as error:
                yield Problem(show(path), f"line {number}: {_sentence(error)}.")
            except ValueError as error:
                yield Problem(show(path), f"line {number}: {error}.")


def _utf8(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} (0x{line[error.start]:02x}) is not UTF-8") from error


def _sentence(error: ValidationError) -> str:
    """All faults of one line, each with the field it is in."""
    faults = (_fault(fault["type"], fault["loc"], fault["msg"]) for fault in error.errors(include_url=False))
    return "; ".join(dict.fromkeys(faults))


def _fault(kind: str, place: tuple[int | str, ...], message: str) -> str:
    # A variant of a union adds its type's name to the place; a field's name is all a writer knows.
    name = ".".join(str(step) for step in place if isinstance(step, int) or step.isidentifier())[:80]
    if kind == "json_invalid":
        return (
            f"not JSON: {message.removeprefix('Invalid JSON: ').replace(' at line 1 column', ' at column')}"
        )
    if kind in ("model_type", "model_attributes_type") and not place:
        return "should be a JSON object"
    if kind == "missing":
        return f"{name} is required"
    if kind == "extra_forbidden":
        return f"there is no field {json.dumps(name, ensure_ascii=False)}"
    message = message.removeprefix("Value error, ")
    return f"{name}: {message[:1].lower()}{message[1:]}" if name else message


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_finite(item) for item in value.values())
    return all(_finite(item) for item in value) if isinstance(value, list) else True
