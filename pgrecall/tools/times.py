"""Times as agents write them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pgrecall.errors import InvalidInput
from pgrecall.importers.dates import parse_since, parse_until


def moment(given: str | None, name: str, now: datetime) -> datetime | None:
    """A date, a moment, or how long ago; ``name`` is the argument it was given for.

    Raises:
        InvalidInput: it is none of these.
    """
    return _read(parse_since, given, name, now)


def end(given: str | None, name: str, now: datetime) -> datetime | None:
    """The same; a mere date means the end of its day."""
    return _read(parse_until, given, name, now)


def _read(
    parse: Callable[[str, datetime], datetime], given: str | None, name: str, now: datetime
) -> datetime | None:
    if given is None:
        return None
    try:
        return parse(given, now)
    except ValueError as error:
        raise InvalidInput(f"{name}: {error}.") from error
