"""Encoding of values for Postgres, which rejects values that it cannot store."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from pgrecall.errors import InvalidInput, MemoryNotFound
from pgrecall.nouns.embedding import Embedded, EmbeddedPassage
from pgrecall.nouns.search.models import SearchFilter, SearchRequest

Vector = Sequence[float]

MAX_ID = 2**63 - 1
"""Of memories, plans, searches and keys: bigint."""

MAX_LEVELS = 100
"""Levels of metadata. SQL enforces it; readers in other languages give up at 128."""

MAX_INTEGER = 2**31 - 1
"""Of counts, versions and places: integer."""


def require_text(value: str, what: str) -> None:
    """Rejects text that Postgres cannot store.

    Raises:
        InvalidInput: it contains a NUL character or a lone surrogate; ``what`` names it in the message.
    """
    if "\x00" in value:
        raise InvalidInput(f"{what} holds a NUL character.", hint="Remove it.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} is not valid Unicode text.", hint="Remove lone surrogates.") from error


def memory_reference(text: str) -> int | str:
    """Parses a reference to a memory: ``42`` is an id, ``key:42`` and anything else a key.

    Raises:
        MemoryNotFound: the number is larger than any id.
    """
    if text.startswith("key:"):
        return text.removeprefix("key:")
    if not (text.isascii() and text.isdigit()):
        return text
    number = int(text) if len(text) < 20 else MAX_ID + 1
    if number > MAX_ID:
        raise MemoryNotFound(text)
    return number


def parse_metadata(given: Sequence[str] | None) -> dict[str, Any] | None:
    """Metadata to filter by, from ``KEY=VALUE`` texts and JSON objects; a value that is not JSON is a text.

    Raises:
        InvalidInput: one is neither.
    """
    if not given:
        return None
    metadata: dict[str, Any] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if one.lstrip().startswith("{"):
            parsed = _json_or_text(one)
            if isinstance(parsed, dict):
                metadata |= parsed
                continue
        elif equals and key.strip():
            metadata[key.strip()] = _json_or_text(value)
            continue
        raise InvalidInput(
            f"The metadata filter {one!r:.100} cannot be read.",
            hint='Write project=atlas, or a JSON object: {"project": "atlas"}.',
        )
    return metadata


def _json_or_text(given: str) -> Any:
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def require_searchable(request: SearchRequest) -> None:
    """Rejects values that SQL arguments cannot carry; ``recall.search`` validates the rest.

    Raises:
        InvalidInput: k is not an integer of 32 bits, or a text cannot be stored.
    """
    require_text(request.query, "The query")
    if request.session_id is not None:
        require_text(request.session_id, "The session id")
    if request.project is not None:
        require_text(request.project, "The project")
    k: object = request.k
    if isinstance(k, bool | float) or (isinstance(k, int) and abs(k) > MAX_INTEGER):
        raise InvalidInput(f"k is {k}; it must be a whole number between 1 and 1,000.")
    require_filter(request)
    for value in filter(None, request.queries or ()):
        require_text(value, f"One of the queries, {value!r},")
    for turn in request.conversation or ():
        require_text(turn.content, "A turn of the conversation")
    for cue in request.cues or ():
        if isinstance(cue, str):
            require_text(cue, "The key of a cue")
    _require_deadline(request.deadline)


def require_filter(chosen: SearchFilter) -> None:
    """Rejects texts of a filter that Postgres cannot store.

    Raises:
        InvalidInput: a text holds a NUL character or is not valid Unicode.
    """
    for name, _ in _sent_fields(SearchFilter):
        values = getattr(chosen, name)
        for value in values if isinstance(values, tuple | list | str) else ():
            if value:
                require_text(value, f"One of the {name}, {value!r},")


def search_document(request: SearchFilter) -> dict[str, object]:
    """The fields of a request or filter that differ from their defaults, as ``recall.find`` reads them."""
    document: dict[str, object] = {}
    for name, default in _sent_fields(type(request)):
        value = getattr(request, name)
        if value is not default and value != default:
            # JSON has no number that is not finite; Postgres reads these as text.
            if name == "conversation":
                texts = (said for turn in value for said in (turn.content, turn.content.strip()))
                value = list(dict.fromkeys(texts))
            infinite = isinstance(value, float) and not math.isfinite(value)
            document[name] = str(value) if infinite else value
    return document


_NOT_SENT = ("now", "plan", "rerank", "deadline", "project", "project_only", "log")


def _sent_fields(kind: type[SearchFilter]) -> tuple[tuple[str, object], ...]:
    """The fields of a request or filter that are sent, with their defaults."""
    if (found := _SENT.get(kind)) is None:
        found = tuple((field.name, field.default) for field in fields(kind) if field.name not in _NOT_SENT)
        _SENT[kind] = found
    return found


_SENT: dict[type, tuple[tuple[str, object], ...]] = {}
"""The fields of each class, read once: dataclasses look them up again each time."""


def _require_deadline(deadline: object) -> None:
    if deadline is not None and not (
        isinstance(deadline, int | float) and not isinstance(deadline, bool) and 0 <= deadline < float("inf")
    ):
        raise InvalidInput(f"The deadline is {deadline}; it must be a number of seconds, 0 or more.")


def text_array(texts: Sequence[str | None]) -> str:
    """Encodes an array of texts for a parameter that is cast; the driver takes longer for a list."""
    quoted = [text and text.replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    return "{" + ",".join("NULL" if text is None else f'"{text}"' for text in quoted) + "}"


def vector_text(vector: Vector) -> str:
    """Encodes a vector as text; half precision needs no more than five digits."""
    return "[" + ",".join(f"{value:.5g}" for value in vector) + "]"


class PackedVector(bytes):
    """A vector in pgvector's binary half-precision format, ten times as fast as text."""

    __slots__ = ()


def packed(vector: Vector) -> PackedVector:
    """Encodes a halfvec: two bytes of dimensions, two unused bytes, two bytes for each value."""
    return PackedVector(struct.pack(f">HH{len(vector)}e", len(vector), 0, *vector))


def token_texts(tokens: Sequence[bytes] | None) -> list[str] | None:
    """Encodes token signs as Postgres reads bit strings; None stays None."""
    return None if tokens is None else [f"x{signs.hex()}" for signs in tokens]


def passage_items(passages: Sequence[EmbeddedPassage] | None) -> list[dict[str, object]] | None:
    """Encodes passages for SQL; None stays None."""
    if passages is None:
        return None
    return [
        {"start": passage.start, "end": passage.end, "embedding": vector_text(passage.vector)}
        for passage in passages
    ]


def embedding_item(embedded: Embedded) -> dict[str, object]:
    """Encodes the embedding of one memory; tokens and passages that it lacks are None."""
    return {
        "embedding": vector_text(embedded.vector),
        "tokens": token_texts(embedded.tokens),
        "passages": passage_items(embedded.passages),
    }


def embedding_of_text(embedded: Embedded | None, content_hash: str | None) -> str | None:
    """The embedding of a changed text with the hash of that text, as JSON; None without an embedding."""
    return None if embedded is None else to_json({"content_hash": content_hash, **embedding_item(embedded)})


def to_json(value: object) -> str:
    """Encodes JSON for Postgres.

    Raises:
        InvalidInput: a text holds a NUL character or half a surrogate pair, a number is not finite, or the
            value is nested too deep.
    """
    try:
        text = json.dumps(value, default=_json_default, ensure_ascii=False, allow_nan=False)
        text.encode()
    except RecursionError as error:
        raise InvalidInput(
            "This cannot be stored as JSON: it is nested too deep.", hint=f"Give at most {MAX_LEVELS} levels."
        ) from error
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"A text holds half a character, U+{ord(error.object[error.start]):04X}.",
            hint="Remove it; it is no Unicode text.",
        ) from error
    except ValueError as error:
        raise InvalidInput(
            f"This cannot be stored as JSON: {error}.",
            hint="Give finite numbers of at most 4,300 digits, and nothing that contains itself.",
        ) from error
    if _NUL.search(text):
        raise InvalidInput("A text holds a NUL character.", hint="Remove it; Postgres cannot store it.")
    return text


def without_json_strings(document: bytes) -> bytes:
    """JSON without its texts, whose signs can look like those of its structure."""
    return _JSON_STRING.sub(b"", document)


# One that never ends takes all that is left, without an attempt at each sign in it: that would take hours.
_JSON_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)

# An odd number of backslashes before u0000 is the escape; an even number is text that speaks of it.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def _json_default(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidInput(f"A value of type {type(value).__name__} cannot be stored: {value!r}.")
