"""Values from the text a user types: memories, times, queries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from pgrecall.encoding import memory_reference
from pgrecall.errors import InvalidInput
from pgrecall.importers import dates
from pgrecall.importers.dates import parse_time


def parse_reference(given: str) -> int | str:
    """``42`` is an id, ``key:42`` and anything else a key."""
    return memory_reference(text(given, "The memory's id or key"))


def parse_moment(given: str | None, option: str) -> datetime | None:
    """An ISO 8601 date or time; without a zone it is UTC."""
    return _read(parse_time, given, option)


def parse_since(given: str | None, now: datetime) -> datetime | None:
    """A time, or how long before ``now``: ``36h``, ``7d``, ``2w``, ``6m``, ``1y``."""
    return _read(partial(dates.parse_since, now=now), given, "--since")


def parse_until(given: str | None, now: datetime) -> datetime | None:
    """Like ``parse_since``; a date without a time means the end of that day."""
    return _read(partial(dates.parse_until, now=now), given, "--until")


def _read(parse: Callable[[str], datetime], given: str | None, option: str) -> datetime | None:
    if given is None:
        return None
    try:
        return parse(given)
    except ValueError as error:
        raise InvalidInput(f"{option}: {error}.") from error


def clock() -> datetime:
    """The current time, in UTC."""
    return datetime.now(UTC)


def text(given: str, what: str) -> str:
    """The text itself.

    Raises:
        InvalidInput: it is blank or not valid Unicode; names ``what``.
    """
    if not given.strip():
        raise InvalidInput(f"{what} is empty.")
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} is not valid UTF-8.", hint="Check the encoding of your terminal."
        ) from error
    return given


def read_query(given: str) -> str:
    """The query of a command; ``-`` reads it from standard input."""
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read().decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"Standard input is not UTF-8 (byte {error.start}).", hint="Convert it to UTF-8."
        ) from error
