"""JSON with comments and trailing commas, as editors read it: parsing, and changes that keep the rest as it
is.

Written here, because no maintained Python library does this. json5, pyjson5 and json-with-comments
drop comments. json-five keeps them in a tree, but leaves commas, blanks and indents to the caller. jsonc-edit
and jsonc-document are only months old, which is too young for other people's files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json.decoder import JSONDecodeError
from typing import Any

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"//|/\*")
_SCALAR = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_BLANKS = " \t"


class CommentsInside(ValueError):
    """A list or text that has to be replaced has comments inside, which would be lost."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: its name, where that begins, and its value."""

    name: str
    begin: int
    value: Node


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place in the text; ``members`` are those of an object, in their order."""

    begin: int
    end: int
    value: Any
    members: Sequence[Member] = ()

    def member(self, name: str) -> Member | None:
        """The last member of this name, which is the one that counts."""
        return next((one for one in reversed(self.members) if one.name == name), None)


def parse(text: str) -> Node:
    """The value that a text holds; that of a blank one is an empty object.

    Raises:
        ValueError: it is not JSON, even with comments and trailing commas.
    """
    begin = _after_space(text, 0)
    if begin == len(text):
        return Node(begin, begin, {})
    node = _value(text, begin)
    if (end := _after_space(text, node.end)) < len(text):
        raise JSONDecodeError("Extra data", text, end)
    return node


def changed(text: str, after: Mapping[str, Any]) -> str:
    """The text with another object in it. Only members that differ are written; comments elsewhere stay.

    Raises:
        ValueError: the text is not JSON.
        CommentsInside: there are comments in a list that has to be replaced.
    """
    root = parse(text)
    if root.begin == root.end:
        return text + _written(after, text, "") + "\n"
    return _with_object(text, (), root.value, after)


def _with_object(
    text: str, path: tuple[str, ...], before: Mapping[str, Any], after: Mapping[str, Any]
) -> str:
    for name in before.keys() - after.keys():
        text = _without_member(text, path, name)
    for name, value in after.items():
        if name in before and before[name] == value:
            continue
        old = before.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            text = _with_object(text, (*path, name), old, value)
        else:
            text = _with_member(text, path, name, value)
    return text


def _object(text: str, path: tuple[str, ...]) -> Node:
    node = parse(text)
    for name in path:
        member = node.member(name)
        if member is None:
            raise KeyError(name)
        node = member.value
    return node


def _with_member(text: str, path: tuple[str, ...], name: str, value: Any) -> str:
    node = _object(text, path)
    if (member := node.member(name)) is not None:
        begin, end = member.value.begin, member.value.end
        if _has_comments(text[begin:end]):
            raise CommentsInside(".".join((*path, name)))
        return text[:begin] + _written(value, text, _indent_at(text, member.begin)) + text[end:]
    close = node.end - 1
    indent = _indent_at(text, close)
    inner, newline, comma = indent + _unit(text), _newline(text), ""
    if node.members:
        last = node.members[-1]
        if "\n" in text[node.begin : node.members[0].begin]:
            inner = _indent_at(text, node.members[0].begin)
        after_last = _after_space(text, last.value.end)
        if text[after_last] == ",":
            comma = ","  # the list ends in a comma, and shall again
        else:
            text = f"{text[: last.value.end]},{text[last.value.end :]}"
            close += 1
    kept = text[:close].rstrip()
    if _is_one_line(text):
        gap = " " if node.members else ""
        return f"{kept}{gap}{json.dumps(name)}: {_written(value, text, inner)}{comma}{text[close:]}"
    own_line = "\n" in text[len(kept) : close]
    tail = text[len(kept) :] if own_line else newline + indent + text[close:]
    return f"{kept}{newline}{inner}{json.dumps(name)}: {_written(value, text, inner)}{comma}{tail}"


def _without_member(text: str, path: tuple[str, ...], name: str) -> str:
    node = _object(text, path)
    places = [place for place, one in enumerate(node.members) if one.name == name]
    for place in reversed(places):  # removes both occurrences of a name
        member = node.members[place]
        begin, end = len(text[: member.begin].rstrip(_BLANKS)), member.value.end
        if text[:begin].endswith("\n"):
            begin -= 2 if text[:begin].endswith("\r\n") else 1
        after = _after_space(text, end)
        if text[after] == ",":
            text = text[:begin] + text[end:after] + text[after + 1 :]
        elif place:
            comma = _after_space(text, node.members[place - 1].value.end)
            text = text[:comma] + text[comma + 1 : begin] + text[end:]
        else:
            close = node.end - 1
            rest = text[end:close]
            alone = not (text[node.begin + 1 : begin] + rest).strip()
            text = text[:begin] + ("" if alone else rest) + text[close:]
    return text


def _written(value: Any, text: str, indent: str) -> str:
    """A value as JSON for a place of this text with this indent."""
    written = json.dumps(value, ensure_ascii=False, indent=None if _is_one_line(text) else _unit(text))
    return written.replace("\n", _newline(text) + indent)


def _is_one_line(text: str) -> bool:
    """Whether the object is on one line and stays so; an empty one gets several lines."""
    return "\n" not in text.strip() and text.strip() not in ("", "{}")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """The blanks before the first member of the text; two spaces where it has none on a line of its own."""
    node = parse(text)
    begin = node.members[0].begin if node.members else 0
    return (_indent_at(text, begin) if "\n" in text[node.begin : begin] else "") or "  "


def _indent_at(text: str, place: int) -> str:
    """The blanks at the beginning of the line of this place."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def _has_comments(text: str) -> bool:
    """Whether a value's text has comments between its parts."""
    return _COMMENT.search(_STRING.sub("", text)) is not None


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> Node:
    first = text[at : at + 1]
    if first == "{":
        return _read_object(text, at)
    if first == "[":
        return _read_list(text, at)
    if first == '"':
        return _read_string(text, at)
    found = _SCALAR.match(text, at)
    if found is None:
        raise JSONDecodeError("Expecting value", text, at)
    try:
        return Node(at, found.end(), json.loads(found[0]))
    except ValueError:
        raise JSONDecodeError("Expecting value", text, at) from None


def _read_string(text: str, begin: int) -> Node:
    found = _STRING.match(text, begin)
    if found is None:
        raise JSONDecodeError("Unterminated string starting at", text, begin)
    try:
        return Node(begin, found.end(), json.loads(found[0]))
    except JSONDecodeError as error:
        raise JSONDecodeError(error.msg, text, begin + error.pos) from None


def _read_object(text: str, begin: int) -> Node:
    members: list[Member] = []
    at = _after_space(text, begin + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
        name = _read_string(text, at)
        colon = _after_space(text, name.end)
        if text[colon : colon + 1] != ":":
            raise JSONDecodeError("Expecting ':' delimiter", text, colon)
        value = _value(text, _after_space(text, colon + 1))
        members.append(Member(name.value, at, value))
        at = _after_comma(text, value.end, "}")
    return Node(begin, at + 1, {one.name: one.value.value for one in members}, members)


def _read_list(text: str, begin: int) -> Node:
    values: list[Any] = []
    at = _after_space(text, begin + 1)
    while text[at : at + 1] != "]":
        value = _value(text, at)
        values.append(value.value)
        at = _after_comma(text, value.end, "]")
    return Node(begin, at + 1, values)


def _after_comma(text: str, at: int, closing: str) -> int:
    """Where the next member begins, or the closing bracket is."""
    at = _after_space(text, at)
    if text[at : at + 1] == ",":
        return _after_space(text, at + 1)
    if text[at : at + 1] != closing:
        raise JSONDecodeError("Expecting ',' delimiter", text, at)
    return at
