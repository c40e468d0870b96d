"""What JSON may hold that a caller sends, checked before it is parsed: over HTTP and for MCP."""

from __future__ import annotations

from starlette.exceptions import HTTPException

from pgrecall.encoding import without_json_strings

MAX_CONTAINERS = 200_000
"""Lists and objects in one body."""

MAX_VALUES = 2_000_000
"""Values in one body: as many numbers of vectors as 8 MB hold with three digits each."""


def require_parsable(body: bytes) -> None:
    """Refuses JSON before it is parsed, if it is not UTF-8 or has too many values.

    Raises:
        HTTPException: 400 or 413.
    """
    _require_utf8(body)
    require_few_values(body)


def _require_utf8(body: bytes) -> None:
    """Refuses encodings other than UTF-8: the parser would recognize them, but what is counted here are the
    signs of UTF-8. JSON has no byte 0, and every other encoding of it has."""
    try:
        readable = b"\0" not in body and (body.isascii() or bool(body.decode()))
    except UnicodeDecodeError:
        readable = False
    if not readable:
        raise HTTPException(400, "The body is not UTF-8, the only encoding of JSON; send UTF-8.")


def require_few_values(body: bytes) -> None:
    """Refuses JSON of so many values that parsing it would keep all other requests waiting.

    8 MB of small lists took half a second. Parsing is C code that no thread can interrupt.

    Raises:
        HTTPException: 413.
    """
    if _is_heavy(body) and _is_heavy(without_json_strings(body)):
        raise HTTPException(
            413,
            f"The body has more than {MAX_CONTAINERS:,} JSON lists and objects or {MAX_VALUES:,} values; "
            "send smaller requests.",
        )


def _is_heavy(body: bytes) -> bool:
    return body.count(b"[") + body.count(b"{") > MAX_CONTAINERS or body.count(b",") > MAX_VALUES
