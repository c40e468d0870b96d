"""Whole files of JSON, and the records that other programs' exports hold in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from pgrecall.errors import InvalidInput
from pgrecall.importers.files import decode, read_bytes, show
from pgrecall.importers.json_lines import sentence

OPEN = ConfigDict(extra="allow", strict=True, frozen=True)
"""The shape of somebody else's record: other versions have other fields besides, which are kept."""

AnyRecord = TypeVar("AnyRecord", bound=BaseModel)


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Name = Annotated[str, BeforeValidator(_as_text)]
"""A name or an id, which some programs write as a number."""


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


def validated(record: object, shape: type[AnyRecord]) -> AnyRecord:
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
