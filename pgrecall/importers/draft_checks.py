"""The last step before a draft is stored: what Postgres cannot hold is replaced or kept as metadata."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pgrecall.encoding import MAX_LEVELS
from pgrecall.importers.fields import (
    ANY,
    INDEXED_BYTES,
    MAX_TARGET_LENGTH,
    MAX_TITLE_LENGTH,
    Rules,
    add_metadata,
    fits,
    kept_as_metadata,
    link_fits,
)
from pgrecall.importers.text import sentence
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft, DraftLink

__all__ = ["INDEXED_BYTES", "MAX_BODY_LENGTH", "MAX_TARGET_LENGTH", "MAX_TITLE_LENGTH", "storable"]

MAX_BODY_LENGTH = 1_000_000
REPLACED = "NUL characters and halves of characters, replaced by U+FFFD"
NOT_NUMBERS = "numbers in metadata that are not JSON, kept as text"
DEEP = "values in metadata nested too deep, kept as text"

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_SIMPLE = (
    "title", "key", "layer", "author", "session_id", "source", "tags", "aliases",
    "occurred_at", "valid_from", "valid_until", "expires_at",
)  # fmt: skip
_DEFAULTS = Draft("")


def storable(
    draft: Draft, where: str, place: str = "", rules: Rules = ANY
) -> Iterator[Draft | Problem | Skipped]:
    """The draft as it can be stored, with notices of what was changed; or a Problem.

    Args:
        draft: as the importer read it.
        where: the file.
        place: the line or entry of it, if it has several.
        rules: what the store takes.
    """
    at = f"{where}: {place}" if place else where
    changed, notices = _fitted(draft, at, rules)
    fault = _fault(changed)
    yield from notices
    if fault is None:
        yield changed
    else:
        yield Problem(where, f"{place}: {fault}." if place else sentence(fault))


def _fault(draft: Draft) -> str | None:
    if not draft.body.strip() and not draft.title.strip():
        return "it has no text"
    if len(draft.body) > MAX_BODY_LENGTH:
        return f"the body has {len(draft.body):,} characters; the limit is {MAX_BODY_LENGTH:,}"
    return None


def _fitted(draft: Draft, at: str, rules: Rules) -> tuple[Draft, list[Skipped]]:
    """The draft without values that its fields cannot have, and the notices of them."""
    notices: list[Skipped] = []
    if draft.metadata:
        draft = replace(draft, metadata=_json_metadata(draft.metadata, at, notices))
    if any(map(_UNSTORABLE.search, _texts(draft))):
        draft = _without_unstorable(draft, at, notices)
    unfit = {name: value for name in _SIMPLE if not _is_unset(value := getattr(draft, name), name)
             and not fits(name, value, rules)}  # fmt: skip
    if draft.valid_from and draft.valid_until and draft.valid_from > draft.valid_until:
        unfit["valid_until"] = draft.valid_until
    links = [link for link in draft.links if not link_fits(link)]
    if not unfit and not links:
        return draft, notices
    metadata = dict(draft.metadata)
    for name, value in unfit.items():
        add_metadata(metadata, name, _as_json(value))
        notices.append(kept_as_metadata(name, at))
    if links:
        add_metadata(metadata, "links", [_as_json(link) for link in links])
        notices.append(kept_as_metadata("links", at))
    defaults = {name: getattr(_DEFAULTS, name) for name in unfit}
    kept = tuple(link for link in draft.links if link not in links)
    return replace(draft, **defaults, metadata=metadata, links=kept), notices


def _is_unset(value: Any, name: str) -> bool:
    return value is None or value == getattr(_DEFAULTS, name)


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, DraftLink):
        return {"target": value.target, "relation": value.relation, "weight": value.weight}
    return list(value) if isinstance(value, tuple) else value


def _texts(draft: Draft) -> Iterator[str]:
    for name in ("body", "title", "context", "key", "author", "source", "session_id", "layer"):
        yield getattr(draft, name) or ""
    yield from draft.tags
    yield from draft.aliases
    for link in draft.links:
        yield link.target
    yield from _texts_within(draft.metadata)


def _texts_within(value: Any) -> Iterator[str]:
    """Every string in a JSON value, including names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _texts_within(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_within(item)


def _without_unstorable(draft: Draft, at: str, notices: list[Skipped]) -> Draft:
    """The draft with U+FFFD for each character that cannot be stored, counted where it is the draft's own."""
    own = replace(draft, context="")
    found = sum(len(_UNSTORABLE.findall(text)) for text in _texts(own))
    if found:
        notices.append(Skipped(REPLACED, found, (at,)))
    names = ("body", "title", "context", "key", "author", "source", "session_id", "layer")
    given: dict[str, Any] = {name: _clean(getattr(draft, name)) for name in (*names, "metadata")}
    given |= {name: tuple(map(_clean, getattr(draft, name))) for name in ("tags", "aliases")}
    links = tuple(replace(link, target=_clean(link.target)) for link in draft.links)
    return replace(draft, **given, links=links)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _json_metadata(metadata: Mapping[str, Any], at: str, notices: list[Skipped]) -> Mapping[str, Any]:
    """Metadata that is JSON and not too deep."""
    deep = [name for name, value in metadata.items() if _is_deeper(value, MAX_LEVELS - 1)]
    if deep:
        notices.append(Skipped(DEEP, len(deep), (at,)))
        metadata = {**metadata, **{name: json_text(metadata[name]) for name in deep}}
    numbers = [value for value in metadata.values() if not finite(value)]
    if numbers:
        notices.append(Skipped(NOT_NUMBERS, len(numbers), (at,)))
        metadata = _finite(metadata)
    return metadata


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested in more than so many levels; without recursion."""
    level = [value]
    for _ in range(levels):
        level = [item for held in level for item in _items(held)]
        if not level:
            return False
    return True


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def json_text(value: Any) -> str:
    """A value as JSON text; a word instead of one that even JSON cannot hold."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "nested too deep"


def finite(value: Any) -> bool:
    """Whether a value contains no NaN or Infinity, which Python accepts as JSON and Postgres does not."""
    if isinstance(value, float):
        return math.isfinite(value)
    return all(map(finite, _items(value)))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


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
        ValueError: the value is missing, empty or not a string; ``name`` says which it is.
    """
    if value is None:
        raise ValueError(f"{name} is missing")
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string")
    if not value.strip():
        raise ValueError(f"{name} is empty")
    return value.strip()
