"""Lines of JSON held against a shape, each fault told with its line and field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from pgrecall.importers.dates import parse_time
from pgrecall.importers.files import LARGEST_BYTES, read_lines, show
from pgrecall.models.imports import Problem


def _moment(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("should be a text in ISO 8601, such as 2026-09-30T08:12:00+00:00")
    return parse_time(value)


Moment = Annotated[datetime, BeforeValidator(_moment)]

STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)
"""The shape of a line has no other fields than its own, and converts nothing."""

AnyLine = TypeVar("AnyLine", bound=BaseModel)


def validated_lines(path: Path, shape: type[AnyLine]) -> Iterator[tuple[int, AnyLine] | Problem]:
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
