"""Parses dates written by people and programs to UTC, and writes dates in words in any locale."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LOOSE = re.compile(
    r"([0-9]{4})(?:[-/.]|[年년] ?)([0-9]{1,2})(?:[-/.]|[月월] ?)([0-9]{1,2})(?![0-9])[日일]?(.*)", re.DOTALL
)
_SHORT_HOUR = re.compile(r"^(\s)([0-9]:)")
_SPOKEN = re.compile(
    r"([0-9]{1,2}):([0-9]{2})\s*([ap])\.?m\.?(?:\s+on)?\s+([0-9]{1,2})\s+([a-z]+)\.?,?\s+([0-9]{4})",
    re.IGNORECASE,
)
_MAILED = re.compile(
    r"(?:[a-z]{3},\s*)?[0-9]{1,2}\s+[a-z]{3}\s+[0-9]{4}\s+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s+\S+)?",
    re.IGNORECASE,
)
_IN_WORDS = re.compile(
    r"(?:[a-z]{3,9},?\s+)?(?:([a-z]{3,9})\.?\s+([0-9]{1,2})|([0-9]{1,2})(?:st|nd|rd|th)?\s+([a-z]{3,9})\.?)"
    r"(?:st|nd|rd|th)?,?\s+([0-9]{4})(?:,?\s+(?:at\s+)?([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?\s*([ap]m)?)?",
    re.IGNORECASE,
)
_OF_JAVASCRIPT = re.compile(
    r"[a-z]{3}\s+([a-z]{3})\s+([0-9]{1,2})\s+([0-9]{4})\s+([0-9:]{8})\s+GMT([+-][0-9]{4}).*",
    re.DOTALL | re.IGNORECASE,
)
_HALVED = re.compile(
    r"(?:([0-9]{4})-|(?=.*(?-i:[AP]M)))([0-9]{1,2})(?(1)-|/)([0-9]{1,2})(?(1)|/([0-9]{4}))"
    r",?\s+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?\s*([ap])m",
    re.IGNORECASE,
)
"""``3/14/2026`` is American English; British and Indian English have the day first, and ``am``."""

_SILLYTAVERN = re.compile(r"\A(\S+?)\s*@\s*([0-9]{2})h\s*([0-9]{2})m\s*([0-9]{2})s.*")
_AGO = re.compile(r"([0-9]{1,6})\s*([hdwmy])(?:\s+ago)?", re.IGNORECASE)
_UNITS = {
    "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1),
    "m": timedelta(days=30), "y": timedelta(days=365),
}  # fmt: skip
_CLOCK = re.compile(r"[Tt\s]\s*[0-9]{2}(?::?[0-9]{2}.*)?", re.DOTALL)
"""A time after a date. Python takes any sign between them, and the ``-15`` of ``10-15`` for a zone."""

_FARTHEST_ZONE = timedelta(hours=14)
_DAY = re.compile(r"\s*[0-9]{4}[-/]?[0-9]{1,2}[-/]?[0-9]{1,2}\s*")
_NAME_OF_DAY = re.compile(r"(?:.*[\s._-])?([0-9]{4})([-_.])([0-9]{2})\2([0-9]{2})(?:[\sT,._-].*)?", re.DOTALL)
_NAME_IS_DAY = re.compile(
    r"([0-9]{4})()([0-9]{2})([0-9]{2})(?:T?[0-9]{4}(?:[0-9]{2})?(?:[\s,._-].*)?)?", re.DOTALL
)
_NAME_OF_CJK_DAY = re.compile("[0-9]{4}[年년].*")
_SINCE_1970 = re.compile(r"([0-9]{10}|[0-9]{13}|[0-9]{16})(?:\.[0-9]+)?")
_LATEST = datetime.max.replace(tzinfo=UTC)


def parse_time(text: str) -> datetime:
    """Parses a date or time in ISO 8601 to UTC; without a zone it is UTC.

    Also accepts ``2026/9/3``, ``2026年9月3日``, a space before the zone, and seconds, milli- or microseconds
    since 1970, in ten, thirteen or sixteen digits. Python would read thirteen as a day in the year of the
    first four.

    Raises:
        ValueError: the text is not a date.
    """
    if digits := _SINCE_1970.fullmatch(text.strip()):
        return datetime.fromtimestamp(float(digits[0]) / 10 ** (len(digits[1]) - 10), UTC)
    return parse_with_zone(text)[0]


def day_in_name(name: str) -> datetime | None:
    """The day that the name of a file gives, at midnight UTC: ``2026-09-30 Standup``, ``2026_09_30``,
    ``daily.2026.09.30``, ``20260930``, ``202609301415 Gate`` as in a Zettelkasten, ``2026年9月30日``, or
    words such as Roam's ``September 30th, 2026``."""
    if _IN_WORDS.fullmatch(name) or _NAME_OF_CJK_DAY.fullmatch(name):
        return worded_moment(name)
    found = _NAME_OF_DAY.fullmatch(name) or _NAME_IS_DAY.fullmatch(name)
    try:
        return datetime(int(found[1]), int(found[3]), int(found[4]), tzinfo=UTC) if found else None
    except ValueError:
        return None


def parse_with_zone(text: str) -> tuple[datetime, bool]:
    """Like :func:`parse_time`, and whether the text names a zone. Raises ValueError."""
    iso = re.sub(r"(?<=[0-9])\s*(?:UTC|GMT)$", "Z", text.strip())
    if loose := _LOOSE.fullmatch(iso):
        clock = _SHORT_HOUR.sub(r"\g<1>0\2", re.sub(r"(?<!\s)\s+(?=[-+Zz])", "", loose[4]))
        iso = f"{loose[1]}-{loose[2]:0>2}-{loose[3]:0>2}{clock}" if _CLOCK.fullmatch(clock or "T00") else ""
    try:
        moment = datetime.fromisoformat(iso)
        if abs(moment.utcoffset() or timedelta()) > _FARTHEST_ZONE:
            raise ValueError(moment)
        return _utc(moment), moment.tzinfo is not None
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"{text[:60]!r} is not a date; write it as 2026-09-30 or 2026-09-30T08:12:00+00:00"
        ) from error


def parse_logged(text: str) -> tuple[datetime, bool]:
    """Like :func:`parse_with_zone`, or parses a date as in mails, in English words, or as browsers write it.

    These are such as ``Tue, 03 Mar 2026 10:15:00 +0100``, ``September 30, 2026 8:12am``,
    ``2026-09-30 8:12 PM``, ``Tue Mar 03 2026 10:15:00 GMT+0100 (CET)`` and ``3/14/2026, 10:15:00 AM``.

    Raises:
        ValueError: the text is not a date.
    """
    text = _OF_JAVASCRIPT.sub(r"\2 \1 \3 \4 \5", text.strip())
    if halved := _HALVED.fullmatch(text):
        first, month, day, last, *clock = halved.groups()
        return _moment(text, (first or last, month, day), clock), False
    if worded := _IN_WORDS.fullmatch(text):
        month, day = (worded[1], worded[2]) if worded[1] else (worded[4], worded[3])
        return _moment(text, (worded[5], month, day), worded.groups()[5:]), False
    if _MAILED.fullmatch(text) is None:
        return parse_with_zone(_SILLYTAVERN.sub(r"\1T\2:\3:\4", text))
    try:
        moment = parsedate_to_datetime(text)
    except OverflowError as error:  # of a zone
        raise ValueError(f"{text[:60]!r} is not a date") from error
    return _utc(moment), moment.tzinfo is not None


def worded_moment(text: str) -> datetime | None:
    """The moment of a text as :func:`parse_logged` reads it; None for what is no date."""
    try:
        return parse_logged(text)[0]
    except ValueError:
        return None


def parse_since(text: str, now: datetime) -> datetime:
    """A time, or a duration before ``now``: ``36h``, ``7d``, ``2w``, ``6m``, ``1y``. Raises ValueError."""
    found = _AGO.fullmatch(text.strip())
    if found is None:
        try:
            return parse_time(text)
        except ValueError as error:
            raise ValueError(f"{error}, or as 7d for seven days ago") from error
    try:
        return now - int(found[1]) * _UNITS[found[2].lower()]
    except OverflowError as error:
        raise ValueError(f"{text!r} is too long ago") from error


def parse_until(text: str, now: datetime) -> datetime:
    """Like ``parse_since``, but a date without a time means the end of that day."""
    moment, day = parse_since(text, now), timedelta(days=1)
    return moment + day if _DAY.fullmatch(text) and moment <= _LATEST - day else moment


def parse_spoken(text: str) -> datetime:
    """Parses the time format of chat logs, ``1:56 pm on 8 May, 2023``, or ISO 8601. Raises ValueError."""
    spoken = _SPOKEN.fullmatch(text.strip())
    if spoken is None:
        return parse_time(text)
    hour, minute, half, day, month, year = spoken.groups()
    try:
        return datetime(int(year), _month(month), int(day), _hour(hour, half), int(minute), tzinfo=UTC)
    except ValueError as error:
        raise ValueError(f"{text[:60]!r} is not a date; write it as '1:56 pm on 8 May, 2023'") from error


def _moment(text: str, date: Sequence[str], clock: Sequence[str | None]) -> datetime:
    """The moment of a text, by its year, month and day, and its hour, minute, second and half of the day."""
    (year, month, day), (hour, minute, second, half) = date, clock
    try:
        return datetime(
            int(year), _month(month), int(day), _hour(hour or "0", half), int(minute or 0), int(second or 0),
            tzinfo=UTC,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"{text[:60]!r} is not a date") from error


def _hour(hour: str, half: str | None) -> int:
    """0 to 23; ``half`` begins with a or p for an hour from 1 to 12. Raises ValueError."""
    if half and not 1 <= int(hour) <= 12:
        raise ValueError(hour)
    return int(hour) % 12 + (12 if half[0] in "pP" else 0) if half else int(hour)


def in_words(moment: datetime) -> str:
    """The date in the words that people search for: ``8 May 2023, Monday``."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}, {_WEEKDAYS[moment.weekday()]}"


def _month(name: str) -> int:
    """1 to 12 for the English name of a month, or at least its first three letters; a number as it is.

    Raises ValueError.
    """
    if name.isdecimal():
        return int(name)
    if len(name) >= 3:
        for number, month in enumerate(_MONTHS, start=1):
            if month.casefold().startswith(name.casefold()):
                return number
    raise ValueError(name)


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
