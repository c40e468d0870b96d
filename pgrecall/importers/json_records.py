"""JSON from files, checked against a shape: lines of JSON Lines, and records of other programs' exports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from pgrecall.errors import InvalidInput
from pgrecall.importers.dates import parse_time
from pgrecall.importers.files import LARGEST_BYTES, decode, read_bytes, read_lines, show
from pgrecall.models.import_export import Problem


def _moment(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("should be a text in ISO 8601, such as 2026-09-30T08:12:00+00:00")
    return parse_time(value)


Moment = Annotated[datetime, BeforeValidator(_moment)]


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Name = Annotated[str, BeforeValidator(_as_text)]
"""A name or an id, which some programs write as a number."""

STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)
"""For a line of our own format: no unknown fields, no conversions."""

OPEN = ConfigDict(extra="allow", strict=True, frozen=True)
"""For a record of another program: fields that we do not know are kept."""

AnyShape = TypeVar("AnyShape", bound=BaseModel)


def validated_lines(path: Path, shape: type[AnyShape]) -> Iterator[tuple[int, AnyShape] | Problem]:
    """Each line that is not blank, with its number; a Problem for one that is not of the shape."""
    for number, data in read_lines(path):
        if data is None:
            yield Problem(show(path), f"line {number}: longer than {LARGEST_BYTES // 1_000_000} MB.")
        elif data.strip():
            try:
                yield number, shape.model_validate_json(_utf8(data))
            except ValidationError as error:
                yield Problem(show(path), f"line {number}: {sentence(error)}.")
            except ValueError as error:
                yield Problem(show(path), f"line {number}: {error}.")


def _utf8(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} (0x{line[error.start]:02x}) is not UTF-8") from error


def sentence(error: ValidationError) -> str:
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


def load_json(path: Path, thing: str, hint: str) -> Any:
    """The file's one JSON value; ``thing`` and ``hint`` say what it should be. Raises InvalidInput."""
    try:
        return parsed(decode(read_bytes(path)))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidInput(f"{show(path)} is not JSON: {place}: {error.msg}.", hint=hint) from error
    except RecursionError as error:
        raise InvalidInput(f"{show(path)} is not {thing}: its JSON is nested too deep.") from error
    except ValueError as error:
        raise InvalidInput(f"{show(path)} is not JSON: {error}.") from error


def parsed(text: str) -> Any:
    """The JSON value in ``text``. Raises ValueError, and RecursionError when it is nested too deep."""
    return json.loads(text)


def records(value: object, lists: Sequence[str]) -> Iterator[tuple[str, object]]:
    """The records of an export with their places, ``record 1`` and on.

    An export is a record, a list of records, a page that holds the list under one of the names in
    ``lists``, or a list of such pages.
    """
    pages = value if isinstance(value, list) else [value]
    found = (record for page in pages for record in _held(page, lists))
    return ((f"record {number}", record) for number, record in enumerate(found, start=1))


def _held(page: object, lists: Sequence[str]) -> Sequence[object]:
    if isinstance(page, dict):
        for name in lists:
            if isinstance(held := page.get(name), list):
                return held
    return [page]


def first_record(value: object, lists: Sequence[str]) -> dict[str, Any]:
    """The first record that is an object, by which an export is told; empty when there is none."""
    return next((record for _, record in records(value, lists) if isinstance(record, dict)), {})


def validated(record: object, shape: type[AnyShape]) -> AnyShape:
    """The record in its shape. Raises ValueError with one sentence about all its faults."""
    if not isinstance(record, dict):
        raise ValueError("should be an object")
    try:
        return shape.model_validate(record)
    except ValidationError as error:
        raise ValueError(sentence(error)) from error


def without_nothing(**fields: object) -> dict[str, Any]:
    """The fields that say something: neither None nor empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
