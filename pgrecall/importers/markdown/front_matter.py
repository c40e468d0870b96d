"""Front matter: the block between ``---`` lines at the start of a note. Unknown fields become metadata.

Hugo and others also read TOML between ``+++`` lines, and a JSON object whose braces have lines of their own.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pgrecall.importers.fields import ANY, Fields, Rules, unfit_values
from pgrecall.importers.markdown.field_names import date_names, normalized
from pgrecall.importers.markdown.inline import RawLink, read_inline
from pgrecall.importers.markdown.mending import read_mended
from pgrecall.importers.markdown.yaml_values import Fields as YamlFields
from pgrecall.importers.markdown.yaml_values import Items, Scalar
from pgrecall.importers.text import composed, one_line, unique
from pgrecall.nouns.memories.models import Role

MENDED = "front matter that is not YAML, read as it is meant"
GIVEN_TWICE = "fields that are given twice, kept as metadata"

_CLOSING = {"---": ("---", "..."), "+++": ("+++",), "{": ("}",)}
"""The lines that close a block, by the one that opens it."""

_FIELD = re.compile(r"[\w-]+:(\s|$)")
_DENDRON_FIELDS = frozenset({"id", "desc"})
"""With a time, what Dendron writes at the head of every note."""

_PROPERTY = re.compile(r"([A-Za-z][\w -]{0,60})::[ \t]+(.*)")
_NOTION_PROPERTY = re.compile(r"([A-Za-z][\w -]{0,60}):[ \t]+(\S.*)")
_WIKILINK = re.compile(r"\[\[([^\[\]\n|]+)(?:\|([^\[\]\n]+))?\]\]")
_PLACEHOLDER = re.compile(r"\{\{[^{}\n]*\}\}|<%[^%\n]*%>")
_OF_A_PLACEHOLDER = 1_000
"""Characters beside each placeholder, from which on a text is no template."""

_NAMES_OF_TAGS = ("tags", "tag", "keywords")
_BETWEEN_TAGS = re.compile(r"(?<!\s)\s+(?=#)")
_VALUE = re.compile(r"^\s*(?:-\s+)?(?:[^:\n]*:\s+)?(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields of a note's front matter. Times are in UTC; ``metadata`` contains only JSON values.

    Attributes:
        notices: what was kept as metadata because it does not fit, each with its line.
        fault: why the block cannot be read; it is then kept as the metadata ``front_matter``.
        label_first: whether links are written ``[[words|note]]``, as Dendron does.
        is_template: whether placeholders stand in it, which a program replaces in copies of the note.
    """

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
    links: tuple[RawLink, ...] = ()
    notices: tuple[tuple[str, int], ...] = ()
    fault: str = ""
    label_first: bool = False
    is_template: bool = False


def read_front_matter(text: str, rules: Rules = ANY) -> tuple[FrontMatter, str]:
    """The front matter and the text below it.

    A note may also start with a thematic break: ``---`` is text if it encloses a plain paragraph, or if it is
    never closed. Of a block that cannot be read, the fault names the line.
    """
    block, body, fault = _split(text)
    if block is None:
        return replace(_properties(text, rules), fault=fault), text
    if is_placeholder_in(block) and is_of_placeholders(text):
        return FrontMatter(is_template=True), body
    try:
        found, mended = read_mended(_as_yaml(block, text), first_line=2)
        if isinstance(found, Items):
            raise ValueError(f"line {found.line}: must be fields such as 'title: …', not a list")
    except ValueError as error:
        return FrontMatter(metadata={"front_matter": block.rstrip("\n")}, fault=str(error)), body
    if isinstance(found, Scalar):
        return FrontMatter(), text
    front = FrontMatter() if found is None else _front_matter(found, rules)
    return (replace(front, notices=(*front.notices, (MENDED, mended))) if mended else front), body


def _properties(text: str, rules: Rules) -> FrontMatter:
    """The names and the time that a page of Logseq gives itself in its first lines, ``alias:: A, B``.

    These stay text, as do its other properties.
    """
    found: dict[str, str] = {}
    for line in text.lstrip("\n").split("\n"):
        match = _PROPERTY.fullmatch(line.rstrip())
        if match is None:
            break
        found.setdefault(normalized(match[1]), _WIKILINK.sub(lambda link: link[2] or link[1], match[2]))
    fields = Fields(found, rules)
    return FrontMatter(
        title=one_line(fields.take("title") or "") or None,
        tags=_tags([*(fields.take("tags") or ()), *(fields.take("tags", "tag") or ())]),
        aliases=unique([*(fields.take("aliases") or ()), *(fields.take("aliases", "alias") or ())]),
        occurred_at=fields.take("occurred_at", *date_names(found)),
    )


def with_properties(front: FrontMatter, body: str, rules: Rules) -> FrontMatter:
    """The front matter, with tags and time from what Notion writes below the title of a page.

    These are lines such as ``Created: September 30, 2026 8:12 AM``; they stay text.
    """
    title, _, below = body.lstrip("\n").partition("\n")
    found: dict[str, str] = {}
    for line in below.lstrip("\n").split("\n") if title.startswith("# ") else ():
        match = _NOTION_PROPERTY.fullmatch(line)
        if match is None:
            break
        found.setdefault(normalized(match[1]), match[2])
    fields = Fields(found, rules)
    return replace(
        front,
        tags=front.tags or _tags([*(fields.take("tags", "tags", "tag") or ())]),
        occurred_at=front.occurred_at or fields.take("occurred_at", *date_names(found)),
    )


def is_placeholder_in(block: str) -> bool:
    """Whether a whole value in a block is ``{{placeholder}}``, or several of them."""
    values = _VALUE.finditer(block) if _PLACEHOLDER.search(block) else ()
    return any(is_placeholder(match[1]) for match in values)


def is_placeholder(text: str) -> bool:
    """Whether a text says nothing but what a program is to put there."""
    rest, count = _PLACEHOLDER.subn("", text)
    return count > 0 and not any(character.isalnum() for character in rest)


def is_of_placeholders(text: str) -> bool:
    """Whether a text has little beside its placeholders; in a long one some were forgotten."""
    rest, count = _PLACEHOLDER.subn("", text)
    return len(rest) < _OF_A_PLACEHOLDER * count


def _split(text: str) -> tuple[str | None, str, str]:
    """The block, the text below it, and the fault of a block that never ends."""
    first, _, rest = text.partition("\n")
    opening = first.rstrip()
    closing = _CLOSING.get(opening, ())
    position = 0
    while closing and position < len(rest):
        end = rest.find("\n", position)
        end = len(rest) if end < 0 else end
        if rest[position:end].rstrip() in closing:
            block, body = rest[:position], rest[end + 1 :]
            return (
                (None, text, "") if opening == "{" and not _is_json_head(block, body) else (block, body, "")
            )
        position = end + 1
    never = opening == "---" and _FIELD.match(rest)
    return None, text, "line 1: opened with --- and never closed" if never else ""


def _is_json_head(block: str, body: str) -> bool:
    """Whether what stands between braces is a JSON object, and a text follows: a note may be about JSON."""
    try:
        json.loads(f"{{{block}}}")
    except (ValueError, RecursionError):
        return False
    return bool(body.strip())


def _as_yaml(block: str, text: str) -> str:
    """The block of a note as YAML. Raises ValueError with the fault of a block in TOML."""
    try:
        match text[0]:
            case "+":
                found = tomllib.loads(f"\n{block}")
                of_zola = found.pop("taxonomies", {}) if isinstance(found.get("taxonomies"), dict) else {}
                return json.dumps(found | of_zola, default=str, ensure_ascii=False)
            case "{":
                return json.dumps(json.loads(f"{{{block}}}"), ensure_ascii=False)
    except RecursionError as error:
        raise ValueError("line 1 or later: nested too deep") from error
    return block


def _front_matter(found: YamlFields, rules: Rules) -> FrontMatter:
    written = _plain(found.written())
    fields = Fields(written, rules, left=found.value(), named=normalized)
    front = FrontMatter(
        title=fields.take("title"),
        layer=fields.take("layer"),
        author=fields.take("author"),
        session_id=fields.take("session_id"),
        role=fields.take("role"),
        pinned=fields.take("pinned") or False,
        tags=_tags([tag for name in _NAMES_OF_TAGS for tag in fields.take("tags", name) or ()]),
        aliases=unique([*(fields.take("aliases") or ()), *(fields.take("aliases", "alias") or ())]),
        occurred_at=fields.take("occurred_at", *date_names(written)),
        valid_from=fields.take("valid_from"),
        valid_until=fields.take("valid_until"),
        expires_at=fields.take("expires_at"),
    )
    again = {name: repeats[0] if len(repeats := found.repeats(name)) == 1 else repeats
             for name, _ in found.again if name not in fields.left}  # fmt: skip
    notices = [
        *((GIVEN_TWICE, node.line) for _, node in found.again),
        *((unfit_values(name), found.fields[name].line) for name in fields.unfit),
    ]
    values = found.value()
    linked = {name: value for name, value in values.items() if any(_links_in(value))}
    return replace(
        front,
        metadata=fields.left | again | linked,
        links=tuple(link for value in linked.values() for link in _links_in(value)),
        notices=tuple(notices),
        label_first=_is_of_dendron(frozenset(found.fields)),
    )


def _is_of_dendron(names: frozenset[str]) -> bool:
    return names >= _DENDRON_FIELDS and not names.isdisjoint(("created", "updated"))


def _links_in(value: Any) -> Iterator[RawLink]:
    """The links in a value. ``[[Note]]`` without quotes is a list in a list, and meant as a link too."""
    if isinstance(value, str):
        if "[[" in value or "](" in value:
            yield from read_inline(one_line(value))[0].links
    elif isinstance(value, list):
        match value:
            case [[str(name)]]:
                yield from _links_in(f"[[{name}]]")
            case _:
                yield from (link for item in value for link in _links_in(item))
    elif isinstance(value, dict):
        yield from (link for item in value.values() for link in _links_in(item))


def _tags(texts: list[str]) -> tuple[str, ...]:
    """Tags without the signs that people and programs put around them."""
    parts = (part for text in texts for part in _BETWEEN_TAGS.split(text))
    return unique([composed(part.strip(" \t#[]\"'")) for part in parts])


def _plain(value: Any) -> Any:
    """Texts on one line, a link as the words it shows, and nothing for an empty text."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, str):
        return value
    text = one_line(value)
    link = _WIKILINK.fullmatch(text)
    return (link[2] or link[1]) if link else text or None
