"""What addresses and forms hold, as values: each that cannot be used is refused by its name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import parse_qsl

from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.values import parse_moment

Fields = ImmutableMultiDict[str, str]

MOST_FIELDS = 200
LARGEST_ID = 2**63 - 1
_FORM = "application/x-www-form-urlencoded"


def form_of(body: bytes, kind: str) -> Fields:
    """The fields of a form as browsers send it.

    Raises:
        HTTPException: 415, it is sent in another way; 400, it cannot be read.
    """
    if body and kind.partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415, f"A form must be sent as {_FORM}.")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise HTTPException(400, "The form cannot be read.") from error
    return ImmutableMultiDict(pairs)


def word(fields: Mapping[str, str], name: str) -> str | None:
    """A text; None where there is none."""
    return fields.get(name, "").strip() or None


def whole(fields: Mapping[str, str], name: str, default: int, *, low: int, high: int) -> int:
    """A whole number within bounds.

    Raises:
        InvalidInput: it is none, or lies outside.
    """
    given = word(fields, name)
    if given is None:
        return default
    try:
        number = int(given.replace(",", "")) if len(given) <= 20 else high + 1
    except ValueError:
        raise InvalidInput(f"{_called(name)} is {given!r:.60}, which is no whole number.") from None
    if not low <= number <= high:
        raise InvalidInput(f"{_called(name)} is {given:.60}; it must lie between {low:,} and {high:,}.")
    return number


def number(fields: Mapping[str, str], name: str) -> float | None:
    """A number; None where there is none.

    Raises:
        InvalidInput: it is something else.
    """
    given = word(fields, name)
    if given is None:
        return None
    try:
        return float(given)
    except ValueError:
        raise InvalidInput(f"{_called(name)} is {given!r:.60}, which is no number.") from None


def moment(fields: Mapping[str, str], name: str) -> datetime | None:
    """A date or time, in UTC where it names no zone; None where there is none.

    Raises:
        InvalidInput: it cannot be read.
    """
    return parse_moment(word(fields, name), _called(name))


def ticked(fields: Mapping[str, str], name: str) -> bool:
    """Whether a box is ticked."""
    return fields.get(name, "") not in ("", "0")


def number_in_path(given: str, what: str) -> int:
    """An id in a path.

    Raises:
        HTTPException: 404, it cannot be one.
    """
    if not (given.isascii() and given.isdigit() and len(given) <= 19 and 0 < int(given) <= LARGEST_ID):
        raise HTTPException(404, f"There is no such {what}.")
    return int(given)


def _called(name: str) -> str:
    words = name.replace("_", " ")
    return f"{words[:1].upper()}{words[1:]}"
