"""JSON from files, validated against a model: JSON Lines, and records of other programs' exports."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from pgrecall.errors import InvalidInput
from pgrecall.importers.dates import parse_time
from pgrecall.importers.encodings import decode, wrong_byte
from pgrecall.importers.fields import Fields, Rules
from pgrecall.importers.files import MAX_BYTES, printable_path, read_bytes, read_lines
from pgrecall.importers.json_stream import noting_decoder, require_few_containers
from pgrecall.importers.other_records import as_records
from pgrecall.importers.text import sentence
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.validation import what_it_must_be

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def _moment(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a string in ISO 8601, such as 2026-09-30T08:12:00+00:00")
    return parse_time(value)


Moment = Annotated[datetime, BeforeValidator(_moment)]


KNOWN_FIELDS = ConfigDict(extra="forbid", strict=True, frozen=True)
"""For our own format: no unknown fields, no conversions."""

_SNIFFED = 20
"""Records at the beginning of a file by which its format is detected."""

_SPACE = re.compile(r"[\s,]*")
_BETWEEN = re.compile(r"[\s,\[\]]*")
"""What stands between objects that are written one after the other, or in a list."""

AnyShape = TypeVar("AnyShape", bound=BaseModel)
T = TypeVar("T")
Notice = tuple[str, int]
"""What a report counts, and how often."""


def record_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]] | Problem | Skipped]:
    """Each object of a file with the number of the line in which it begins.

    It is one a line, or a list of objects, or objects over several lines. A Problem takes the place of a line
    without an object. A notice goes before one that is not UTF-8, or in which a field is given twice.
    """
    for line in _written_out(path) if _is_written_out(path) else _lines(path, _object_reader()):
        if isinstance(line, Problem):
            yield line
        else:
            number, (record, notices) = line
            for what, count in notices:
                yield Skipped(what, count, (f"{printable_path(path)}: line {number}",))
            if "body" in record:
                yield number, record
            else:
                yield from ((number, one) for one in as_records(record))


def _is_written_out(path: Path) -> bool:
    """Whether the first line begins a list, or an object that goes on in the next line."""
    lines = ((line or b"").strip() for _, line in read_lines(path))
    begins = list(islice((line for line in lines if line), 2))
    return bool(begins) and (begins[0].startswith(b"[{") or (begins[0] in (b"[", b"{") and len(begins) == 2))


def _written_out(path: Path) -> Iterator[tuple[int, tuple[dict[str, Any], list[Notice]]] | Problem]:
    """The objects of a file as a whole. What follows a mistake is not read, and is reported with it."""
    try:
        decoded = decode(read_bytes(path))
    except ValueError as error:
        yield Problem(printable_path(path), sentence(error))
        return
    text, notices = decoded.text, decoded.notices
    doubled: list[Notice] = []
    decoder = noting_decoder(lambda *notice: doubled.append(notice))
    number, at, read = 1, 0, 0
    while (at := _BETWEEN.match(text, at).end()) < len(text):  # type: ignore[union-attr]  # it matches nothing too
        number += text.count("\n", read, at)
        read = at
        doubled.clear()
        try:
            value, at = decoder.raw_decode(text, at)
        except RecursionError:
            reason = "its JSON is nested too deep"
        except json.JSONDecodeError as error:
            number, reason = error.lineno, _words(error)
        else:
            if isinstance(value, dict):
                yield number, (value, notices + doubled)
            else:
                yield Problem(printable_path(path), f"line {number}: must be a JSON object.")
            continue
        yield Problem(printable_path(path), f"line {number}: {reason}; what follows is not read.")
        return


def validated_lines(path: Path, shape: type[AnyShape]) -> Iterator[tuple[int, AnyShape] | Problem]:
    """Each line that is not blank, with its number; a Problem for a line that does not match the model."""

    def read(line: bytes) -> Iterator[AnyShape]:
        try:
            yield shape.model_validate_json(_utf8(line))
        except ValidationError as error:
            raise ValueError(validation_message(error)) from error

    return _lines(path, read)


def _lines(path: Path, read: Callable[[bytes], Iterator[T]]) -> Iterator[tuple[int, T] | Problem]:
    cut: list[str] = []
    for number, data in read_lines(path, cut=cut):
        if data is None:
            yield Problem(printable_path(path), f"line {number}: longer than {MAX_BYTES // 1_000_000} MB.")
        elif data.strip():
            try:
                for found in read(data):
                    yield number, found
            except RecursionError:
                yield Problem(printable_path(path), f"line {number}: its JSON is nested too deep.")
            except ValueError as error:
                yield Problem(printable_path(path), f"line {number}: {_words(error)}.")
    for reason in cut:
        yield Problem(printable_path(path), f"{reason.rstrip('.')}; what follows is not read.")


def _object_reader() -> Callable[[bytes], Iterator[tuple[dict[str, Any], list[Notice]]]]:
    """What reads the objects of a line, each with its notices. To make a decoder takes as long as a line."""
    doubled: list[Notice] = []
    decoder = noting_decoder(lambda *notice: doubled.append(notice))

    def read(line: bytes) -> Iterator[tuple[dict[str, Any], list[Notice]]]:
        decoded = decode(line)
        doubled.clear()
        notices = decoded.notices
        for value in values_in(decoded.text, decoder):
            if not isinstance(value, dict):
                raise ValueError("must be a JSON object")
            yield value, notices + doubled
            doubled.clear()
            notices = []

    return read


def _words(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        said = error.msg.removesuffix(" at")  # an unterminated string "starting at"
        return f"not JSON: {said[:1].lower()}{said[1:]} at column {error.colno}"
    return str(error)


def _utf8(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(wrong_byte(error, "utf-8")) from error


def validation_message(error: ValidationError) -> str:
    """All faults of one record, each with its field."""
    faults = map(_fault, error.errors(include_url=False))
    return "; ".join(dict.fromkeys(faults))


def _fault(fault: ErrorDetails) -> str:
    kind, place, message = fault["type"], fault["loc"], fault["msg"]
    # pydantic adds the type of a union's variant to the location; only names of fields are shown.
    name = ".".join(str(step) for step in place if isinstance(step, int) or step.isidentifier())[:80]
    if kind == "json_invalid":
        return (
            f"not JSON: {message.removeprefix('Invalid JSON: ').replace(' at line 1 column', ' at column')}"
        )
    if kind in ("model_type", "model_attributes_type") and not place:
        return "must be a JSON object"
    if kind == "missing":
        return f"{name} is required"
    if kind == "extra_forbidden":
        return f"there is no field {json.dumps(name, ensure_ascii=False)}"
    if must := what_it_must_be(fault):
        return f"{name} {must}"
    message = message.removeprefix("Value error, ")
    return f"{name}: {message[:1].lower()}{message[1:]}" if name else message


def load_json(path: Path, thing: str, hint: str, notices: list[Skipped]) -> Any:
    """The JSON value of a file, or the list of its values if it has several. Raises InvalidInput.

    Args:
        thing: names what is expected, as does ``hint``.
        notices: gets one if the file is not UTF-8, or gives a field twice.
    """
    try:
        return parse_json(read_bytes(path), printable_path(path), notices)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidInput(f"{printable_path(path)} is not JSON: {place}: {error.msg}.", hint=hint) from error
    except RecursionError as error:
        raise InvalidInput(f"{printable_path(path)} is not {thing}: its JSON is nested too deep.") from error
    except ValueError as error:
        raise InvalidInput(f"{printable_path(path)} is not JSON: {error}.") from error


def parse_json(data: bytes, place: str, notices: list[Skipped]) -> Any:
    """The JSON value of an entry or a file, or the list of its values.

    Args:
        place: its name.
        notices: gets what had to be assumed of it.

    Raises:
        ValueError: it is no text, or not JSON.
        RecursionError: it is nested too deeply.
    """
    decoded = decode(data)
    assumed = Counter(dict(decoded.notices))
    decoder = noting_decoder(lambda what, times: assumed.update({what: times}))
    values = list(values_in(decoded.text, decoder))
    notices += [Skipped(what, count, (place,)) for what, count in assumed.items()]
    return values[0] if len(values) == 1 else values


def values_in(text: str, decoder: json.JSONDecoder) -> Iterator[Any]:
    """The JSON values in a line: one, or several where a program was stopped before it ended the line.

    Raises ValueError, or RecursionError, at the first that cannot be read.
    """
    require_few_containers(text)
    at = _SPACE.match(text).end()  # type: ignore[union-attr]  # it matches nothing too
    while True:
        value, at = decoder.raw_decode(text, at)
        yield value
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if at == len(text):
            return


def records(value: object, lists: Sequence[str]) -> Iterator[tuple[str, object]]:
    """The records of an export with their places: ``record 1``, ``record 2``, ...

    An export is a record, a list of records, a page that contains the list under one of the names in
    ``lists``, or a list of such pages.
    """
    pages = value if isinstance(value, list) else [value]
    found = (record for page in pages for record in _records_of(page, lists))
    return ((f"record {number}", record) for number, record in enumerate(found, start=1))


def _records_of(page: object, lists: Sequence[str]) -> Sequence[object]:
    if isinstance(page, dict):
        for name in lists:
            if isinstance(held := page.get(name), list):
                return held
    return [page]


def first_records(value: object, lists: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The first records that are objects, which identify the format."""
    found = (record for _, record in records(value, lists) if isinstance(record, dict))
    return islice(found, _SNIFFED)


def record_fields(record: object, rules: Rules) -> Fields:
    """The fields of a record. Raises ValueError for anything but an object."""
    if not isinstance(record, dict):
        raise ValueError("must be an object")
    return Fields(record, rules)


def required_field(fields: Fields, *names: str) -> str:
    """The text under one of these names. Raises ValueError if there is none."""
    value = fields.take("body", *names)
    if value is None:
        found = next((name for name in names if name in fields.unfit), None)
        raise ValueError(f"{found} must be a text" if found else f"{names[0]} is required")
    return str(value)


def without_empty(**fields: object) -> dict[str, Any]:
    """The fields that are neither None nor empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
