"""What people type on a command line, as values: memories, moments and texts."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta

from pgrecall.errors import InvalidInput, MemoryNotFound
from pgrecall.importers.dates import parse_time

_AGO = re.compile(r"([0-9]{1,6})\s*([hdwmy])", re.IGNORECASE)
_UNITS = {
    "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1),
    "m": timedelta(days=30), "y": timedelta(days=365),
}  # fmt: skip
_DAY = re.compile(r"\s*[0-9]{4}[-/]?[0-9]{1,2}[-/]?[0-9]{1,2}\s*")
_LARGEST_ID = 2**63 - 1
_LATEST = datetime.max.replace(tzinfo=UTC)


def parse_reference(given: str) -> int | str:
    """``42`` is an id, ``key:42`` and anything else a key."""
    reference = text(given, "The memory's id or key")
    if reference.startswith("key:"):
        return reference.removeprefix("key:")
    if not (reference.isascii() and reference.isdigit()):
        return reference
    number = int(reference) if len(reference) < 20 else _LARGEST_ID + 1
    if number > _LARGEST_ID:
        raise MemoryNotFound(reference)
    return number


def parse_moment(given: str | None, option: str) -> datetime | None:
    """An ISO 8601 date or time; without a zone it is UTC."""
    if given is None:
        return None
    try:
        return parse_time(given)
    except ValueError as error:
        raise InvalidInput(f"{option}: {error}.") from error


def parse_since(given: str | None, now: datetime) -> datetime | None:
    """A moment, or how long before ``now``: ``36h``, ``7d``, ``2w``, ``6m``, ``1y``."""
    return _ago(given, now, "--since") or parse_moment(given, "--since")


def parse_until(given: str | None, now: datetime) -> datetime | None:
    """Like ``parse_since``; a mere date means the end of that day."""
    if before := _ago(given, now, "--until"):
        return before
    moment = parse_moment(given, "--until")
    day = timedelta(days=1)
    if moment is None or given is None or not _DAY.fullmatch(given) or moment > _LATEST - day:
        return moment
    return moment + day


def _ago(given: str | None, now: datetime, option: str) -> datetime | None:
    found = _AGO.fullmatch(given.strip()) if given is not None else None
    if found is None:
        return None
    try:
        return now - int(found[1]) * _UNITS[found[2].lower()]
    except OverflowError as error:
        raise InvalidInput(f"{option}: {given!r} is too long ago.") from error


def clock() -> datetime:
    """The moment a command runs at, where none was given."""
    return datetime.now(UTC)


def text(given: str, what: str) -> str:
    """The argument itself, refused when its bytes are not text."""
    if not given.strip():
        raise InvalidInput(f"{what} is empty.")
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} is not valid UTF-8.", hint="Check the encoding of your terminal."
        ) from error
    return given


def texts(given: list[str] | None, what: str) -> tuple[str, ...] | None:
    """The values of a repeated option; None when it was not given."""
    return tuple(text(value, what) for value in given) if given else None


def question(given: str) -> str:
    """The question, read from standard input for ``-``."""
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read().decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"Standard input is not UTF-8 (byte {error.start}).", hint="Convert it to UTF-8."
        ) from error
