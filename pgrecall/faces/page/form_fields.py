"""Parsing of fields of queries and forms, of filters, and of uploaded files; errors name the field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast, get_args
from urllib.parse import parse_qsl

from starlette.datastructures import ImmutableMultiDict, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from pgrecall.arguments import FilterOptions
from pgrecall.encoding import MAX_ID, parse_metadata
from pgrecall.errors import InvalidInput
from pgrecall.faces.http.request_limits import replay
from pgrecall.importers.dates import parse_time
from pgrecall.nouns.memories.models import DIRECTIVES, Role, SpeechAct
from pgrecall.nouns.search.models import ConversationTurn

Fields = ImmutableMultiDict[str, str]

MAX_FIELDS = 200
MAX_FILES = 200
FILTER_FIELDS = (
    "layer",
    "tags",
    "author",
    "act",
    "source",
    "metadata",
    "since",
    "until",
    "archived",
    "superseded",
)
_MEDIA_TYPE = "application/x-www-form-urlencoded"


def parse_form(body: bytes, content_type: str, max_fields: int = MAX_FIELDS) -> Fields:
    """The fields of a URL-encoded form, ``max_fields`` of them.

    Raises:
        HTTPException: 415 for another media type; 400 when it cannot be parsed.
    """
    if body and content_type.partition(";")[0].strip().lower() != _MEDIA_TYPE:
        raise HTTPException(415, f"A form must be sent as {_MEDIA_TYPE}.")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=max_fields)
    except ValueError as error:
        raise HTTPException(400, "The form cannot be parsed.") from error
    return ImmutableMultiDict(pairs)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that a form brought: its name without folders, and its bytes."""

    name: str
    data: bytes


async def parse_upload(request: Request, body: bytes) -> tuple[Fields, tuple[Upload, ...]]:
    """The fields and files of a form with files.

    Raises:
        HTTPException: 400 when it cannot be parsed, or has too many files.
    """
    try:
        read = Request({**request.scope, "app": None}, replay(body))
        form = await read.form(max_files=MAX_FILES, max_fields=MAX_FIELDS, max_part_size=len(body) + 1)
    except (MultiPartException, HTTPException) as error:
        reason = getattr(error, "message", None) or getattr(error, "detail", "")
        raise HTTPException(400, f"The form cannot be parsed: {reason or 'it is not complete'}") from error
    pairs = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    files = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
    uploads = tuple([Upload(file_name(each.filename or ""), await each.read()) for each in files])
    return ImmutableMultiDict(pairs), tuple(each for each in uploads if each.name)


def file_name(given: str) -> str:
    """The last part of a name, in letters that every file system takes; empty when nothing is left."""
    last = re.split(r"[/\\]", given)[-1]
    return "".join(letter if letter.isalnum() or letter in " ._-()" else "_" for letter in last).strip(" .")[
        -120:
    ]


def list_field(fields: Mapping[str, str], name: str) -> tuple[str, ...] | None:
    """Texts separated by commas; None when there is none."""
    return tuple(filter(None, map(str.strip, fields.get(name, "").split(",")))) or None


def text_field(fields: Mapping[str, str], name: str) -> str | None:
    """A text; None when empty."""
    return fields.get(name, "").strip() or None


def turns_field(fields: Mapping[str, str], name: str) -> list[ConversationTurn] | None:
    """The turns of a conversation; None when empty.

    Each line is one. It is the user's, unless it begins with another role, as in ``assistant: Try a walk.``
    """
    turns = []
    for line in filter(str.strip, fields.get(name, "").splitlines()):
        first, colon, said = line.partition(":")
        role = first.strip().lower()
        if not colon or role not in get_args(Role):
            role, said = "user", line
        turns.append(ConversationTurn(cast(Role, role), said.strip()))
    return turns or None


def int_field(fields: Mapping[str, str], name: str, default: int, *, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``.

    Raises:
        InvalidInput: it is not one.
    """
    value = text_field(fields, name)
    if value is None:
        return default
    try:
        number = int(value.replace(",", "")) if len(value) <= 20 else high + 1
    except ValueError:
        raise InvalidInput(f"{_label(name)} is {value!r:.60}, which is not a whole number.") from None
    if not low <= number <= high:
        raise InvalidInput(f"{_label(name)} is {value:.60}; it must be between {low:,} and {high:,}.")
    return number


def float_field(fields: Mapping[str, str], name: str) -> float | None:
    """A number; None when empty.

    Raises:
        InvalidInput: it is not a number.
    """
    value = text_field(fields, name)
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        raise InvalidInput(f"{_label(name)} is {value!r:.60}, which is not a number.") from None


def time_field(fields: Mapping[str, str], name: str) -> datetime | None:
    """A date or time, in UTC unless it has a zone; None when empty.

    Raises:
        InvalidInput: it is neither.
    """
    value = text_field(fields, name)
    try:
        return None if value is None else parse_time(value)
    except ValueError as error:
        raise InvalidInput(f"{_label(name)}: {error}.") from error


def checkbox(fields: Mapping[str, str], name: str) -> bool:
    """Whether a checkbox is ticked."""
    return fields.get(name, "") not in ("", "0")


def require_confirmed(fields: Mapping[str, str], refusal: str) -> None:
    """Raises InvalidInput with the refusal unless the checkbox of a form that confirms is ticked."""
    if not checkbox(fields, "sure"):
        raise InvalidInput(refusal, hint="Tick the box to confirm, and send it again.")


def path_id(segment: str, noun: str) -> int:
    """An id in a path.

    Raises:
        HTTPException: 404, it is not an id.
    """
    if not (segment.isascii() and segment.isdigit() and len(segment) <= 19 and 0 < int(segment) <= MAX_ID):
        raise HTTPException(404, f"There is no such {noun}.")
    return int(segment)


def _label(name: str) -> str:
    words = name.replace("_", " ")
    return f"{words[:1].upper()}{words[1:]}"


def read_filters(query: Mapping[str, str]) -> FilterOptions:
    """The filters that a query sets.

    Raises:
        InvalidInput: a date or the metadata cannot be read.
    """
    layer, source, metadata = (text_field(query, name) for name in ("layer", "source", "metadata"))
    return {
        "layers": None if layer is None else (layer,),
        "tags": list_field(query, "tags"),
        "authors": list_field(query, "author"),
        "speech_acts": _speech_acts(query),
        "sources": None if source is None else (source,),
        "metadata": parse_metadata([metadata] if metadata else None),
        "since": time_field(query, "since"),
        "until": time_field(query, "until"),
        "include_archived": checkbox(query, "archived"),
        "include_superseded": checkbox(query, "superseded"),
    }


def _speech_acts(query: Mapping[str, str]) -> tuple[SpeechAct, ...] | None:
    """One speech act, or both directives."""
    act = text_field(query, "act")
    if act is None:
        return None
    return DIRECTIVES if act == "directives" else (cast(SpeechAct, act),)


def shown_filters(fields: Mapping[str, Any]) -> list[str]:
    """The names of the filters that are set."""
    return [name for name in FILTER_FIELDS if fields.get(name)]
