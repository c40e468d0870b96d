"""Front matter: the block between ``---`` lines at the start of a note. Unknown fields become metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast, get_args

from pgrecall.importers.dates import parse_time
from pgrecall.importers.markdown.yaml_values import Fields, Items, Node, Scalar, read_yaml
from pgrecall.importers.text import one_line, unique
from pgrecall.models.memories import Role

_OPENING = "---"
_CLOSING = ("---", "...")
_FIELD = re.compile(r"[\w-]+:(\s|$)")
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0", "")
_OCCURRED = ("occurred_at", "date", "created")
_KNOWN = frozenset(
    {
        "title", "layer", "tags", "tag", "aliases", "alias", "author", "role", "pinned", "session_id",
        "valid_from", "valid_until", "expires_at", *_OCCURRED,
    }
)  # fmt: skip

Found = Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields of a note's front matter. Times are in UTC; ``metadata`` contains only JSON values."""

    title: str | None = None
    layer: str | None = None
    author: str | None = None
    session_id: str | None = None
    role: Role | None = None
    pinned: bool = False
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def read_front_matter(text: str) -> tuple[FrontMatter, str]:
    """The front matter and the text below it.

    A note may also start with a thematic break: ``---`` is text if it encloses a plain paragraph, or if it is
    never closed and no field follows. Raises ValueError with the line of invalid front matter.
    """
    block, body = _split(text)
    if block is None:
        return FrontMatter(), text
    found = read_yaml(block, first_line=2)
    if found is None:
        return FrontMatter(), body
    if isinstance(found, Scalar):
        return FrontMatter(), text
    if isinstance(found, Items):
        raise ValueError(f"line {found.line}: must be fields such as 'title: …', not a list")
    return _front_matter({name.strip().casefold(): node for name, node in found.fields.items()}, found), body


def _split(text: str) -> tuple[str | None, str]:
    first, _, rest = text.partition("\n")
    if first.rstrip() != _OPENING:
        return None, text
    position = 0
    while position < len(rest):
        end = rest.find("\n", position)
        end = len(rest) if end < 0 else end
        if rest[position:end].rstrip() in _CLOSING:
            return rest[:position], rest[end + 1 :]
        position = end + 1
    if _FIELD.match(rest):
        raise ValueError("line 1: opened with --- and never closed")
    return None, text


def _front_matter(found: Found, fields: Fields) -> FrontMatter:
    return FrontMatter(
        title=_text(found, "title"),
        layer=_text(found, "layer"),
        author=_text(found, "author"),
        session_id=_text(found, "session_id"),
        role=_role(found),
        pinned=_pinned(found),
        tags=unique([tag.strip().lstrip("#") for name in ("tags", "tag") for tag in _texts(found, name)]),
        aliases=unique([alias for name in ("aliases", "alias") for alias in _texts(found, name)]),
        occurred_at=next((at for name in _OCCURRED if (at := _time(found, name))), None),
        valid_from=_time(found, "valid_from"),
        valid_until=_time(found, "valid_until"),
        expires_at=_time(found, "expires_at"),
        metadata={
            name: node.value()
            for name, node in fields.fields.items()
            if name.strip().casefold() not in _KNOWN
        },
    )


def _text(found: Found, name: str) -> str | None:
    node = found.get(name)
    if node is None or (isinstance(node, Scalar) and node.value() is None):
        return None
    if not isinstance(node, Scalar):
        raise ValueError(f"line {node.line}: {name} must be a single string")
    return one_line(node.text) or None


def _texts(found: Found, name: str) -> list[str]:
    """The strings of a list, or of one string split at commas."""
    node = found.get(name)
    if not isinstance(node, Items):
        return (_text(found, name) or "").split(",")
    texts = []
    for item in node.items:
        if not isinstance(item, Scalar):
            raise ValueError(f"line {item.line}: {name} must be a list of strings")
        if item.value() is not None:
            texts.append(item.text)
    return texts


def _time(found: Found, name: str) -> datetime | None:
    text = _text(found, name)
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise ValueError(f"line {found[name].line}: {name}: {error}") from error


def _role(found: Found) -> Role | None:
    role = _text(found, "role")
    if role is not None and role not in get_args(Role):
        raise ValueError(
            f"line {found['role'].line}: role {role[:60]!r} is not one of {', '.join(get_args(Role))}"
        )
    return cast(Role | None, role)


def _pinned(found: Found) -> bool:
    word = (_text(found, "pinned") or "").casefold()
    if word not in _TRUE + _FALSE:
        raise ValueError(f"line {found['pinned'].line}: pinned must be true or false, not {word[:60]!r}")
    return word in _TRUE
