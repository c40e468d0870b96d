"""Checks drafts before they are stored, so that one invalid record does not fail a batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pgrecall.encoding import MAX_LEVELS, is_too_deep
from pgrecall.models.import_export import Problem
from pgrecall.models.memories import RELATIONS, Draft, DraftLink

MAX_TITLE_LENGTH = 1_000
MAX_BODY_LENGTH = 1_000_000
MAX_TARGET_LENGTH = 1_000
INDEXED_BYTES = 2_000
_INDEXED = ("key", "author", "source", "session_id", "layer")


def checked_draft(draft: Draft, where: str, place: str = "") -> Draft | Problem:
    """The draft, or a Problem if it cannot be stored; ``place`` is its position in the file."""
    fault = _fault(draft)
    if fault is None:
        return draft
    return Problem(where, f"{place}: {fault}." if place else f"{fault[0].upper()}{fault[1:]}.")


def _fault(draft: Draft) -> str | None:
    if is_too_deep(draft.metadata):  # the other checks follow its levels by recursion
        return f"metadata has more than {MAX_LEVELS} levels"
    return _bad_characters(draft) or _bad_sizes(draft) or _bad_links(draft) or _bad_times(draft)


def _bad_characters(draft: Draft) -> str | None:
    for name, text in _texts(draft):
        if fault := bad_character(text):
            return f"{name} {fault}"
    return None if finite(draft.metadata) else "metadata contains NaN or Infinity, which are not JSON"


def finite(value: Any) -> bool:
    """Whether a value contains no NaN or Infinity, which Python accepts as JSON and Postgres does not."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(finite(item) for item in value.values())
    return all(finite(item) for item in value) if isinstance(value, list) else True


def bad_character(text: str) -> str | None:
    """The reason why Postgres cannot store the text; None if it can."""
    if "\0" in text:
        return "contains a NUL character"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "contains half a character (a lone surrogate)"
    return None


def required_text(value: Any, name: str) -> str:
    """A text that a source must give, without the space around it.

    Raises:
        ValueError: the value is missing, empty, not a string, or cannot be stored; ``name`` says which it is.
    """
    if value is None:
        raise ValueError(f"{name} is missing")
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string")
    if not value.strip():
        raise ValueError(f"{name} is empty")
    if fault := bad_character(value):
        raise ValueError(f"{name} {fault}")
    return value.strip()


def _texts(draft: Draft) -> Iterator[tuple[str, str]]:
    for name in ("body", "title", "context", *_INDEXED):
        yield name, getattr(draft, name) or ""
    for name in ("tags", "aliases"):
        for text in getattr(draft, name):
            yield name, text
    for link in draft.links:
        yield "a link's target", link.target
    for text in _texts_within(draft.metadata):
        yield "metadata", text


def _texts_within(value: Any) -> Iterator[str]:
    """Every string in a JSON value, including names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts_within(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_within(item)


def _bad_sizes(draft: Draft) -> str | None:
    if not draft.body.strip() and not draft.title.strip():
        return "it has no text"
    if len(draft.title) > MAX_TITLE_LENGTH:
        return f"the title has {len(draft.title):,} characters; the limit is {MAX_TITLE_LENGTH:,}"
    if len(draft.body) > MAX_BODY_LENGTH:
        return f"the body has {len(draft.body):,} characters; the limit is {MAX_BODY_LENGTH:,}"
    if draft.key == "":
        return "the key is empty"
    for name in _INDEXED:
        size = len((getattr(draft, name) or "").encode())
        if size > INDEXED_BYTES:
            return f"{name} has {size:,} bytes; the limit is {INDEXED_BYTES:,}"
    return None


def _bad_links(draft: Draft) -> str | None:
    return next((fault for link in draft.links if (fault := _bad_link(link))), None)


def _bad_link(link: DraftLink) -> str | None:
    if not 1 <= len(link.target) <= MAX_TARGET_LENGTH:
        return (
            f"a link's target has {len(link.target):,} characters; 1 to {MAX_TARGET_LENGTH:,} can be stored"
        )
    if link.relation not in RELATIONS:
        return f"relation {link.relation[:60]!r} is not one of {', '.join(RELATIONS)}"
    if not 0 < link.weight <= 100:
        return f"a link's weight is {link.weight}; it must be above 0 and at most 100"
    return None


def _bad_times(draft: Draft) -> str | None:
    if draft.valid_from and draft.valid_until and draft.valid_from > draft.valid_until:
        return "valid_until is before valid_from"
    return None
