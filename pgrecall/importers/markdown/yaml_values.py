"""Parses YAML front matter to values with line numbers, by the rules of YAML 1.2; no objects are constructed.

Reads PyYAML's events, because its constructors follow YAML 1.1 (``12:30`` is 750, ``no`` is false) and raise
ValueError without a line for an impossible date, and its composer overflows the C stack on deep nesting.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_DEEPEST = 20
MAX_COPIES = 10_000
"""Values that aliases repeat in one note; a few lines of aliases of aliases could repeat billions."""

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]{1,18}")
UNREADABLE = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Scalar:
    """One YAML scalar as written; ``plain`` if it has no quotes and so may be a number."""

    text: str
    plain: bool
    line: int

    def written(self) -> str | None:
        """The text as written; None for no value."""
        return None if self.plain and self.text in _NULLS else self.text

    def value(self) -> Any:
        """None, a bool, an int, a finite float or the text."""
        if not self.plain:
            return self.text
        if self.text in _NULLS:
            return None
        if self.text in _BOOLS:
            return _BOOLS[self.text]
        if _INT.fullmatch(self.text):
            return int(self.text)
        if _FLOAT.fullmatch(self.text) and math.isfinite(number := float(self.text)):
            return number
        return self.text


@dataclass(frozen=True, slots=True)
class Items:
    """A YAML sequence."""

    items: tuple[Node, ...]
    line: int

    def written(self) -> list[Any]:
        """The list of the items as written."""
        return [item.written() for item in self.items]

    def value(self) -> Any:
        """The list of the items' values."""
        return [item.value() for item in self.items]


@dataclass(frozen=True, slots=True)
class Fields:
    """A YAML mapping with strings as keys; ``again`` are the fields whose name occurs a second time."""

    fields: dict[str, Node]
    line: int
    again: tuple[tuple[str, Node], ...] = ()

    def written(self) -> dict[str, Any]:
        """The dict of the fields as written."""
        return {name: field.written() for name, field in self.fields.items()}

    def value(self) -> dict[str, Any]:
        """The dict of the fields' values; of a field that is given twice, the list of its values."""
        found = {name: field.value() for name, field in self.fields.items()}
        for name in dict(self.again):
            found[name] = [found[name], *self.repeats(name)]
        return found

    def repeats(self, name: str) -> list[Any]:
        """The values of a field after its first."""
        return [field.value() for again, field in self.again if again == name]


Node: TypeAlias = Scalar | Items | Fields


def read_yaml(text: str, first_line: int) -> Node | None:
    """The single document in ``text``, or None if it is empty. Raises ValueError with the line of the fault.

    ``first_line`` is the number of the first line.
    """
    if found := UNREADABLE.search(text):
        line = first_line + text.count("\n", 0, found.start())
        raise ValueError(f"line {line}: character U+{ord(found[0]):04X} is not allowed here")
    try:
        events = yaml.parse(text, Loader=_LOADER)
        return _Builder(events, first_line).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark else 0)
        raise ValueError(f"line {line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        fault, _, _ = str(error).partition("\n")
        raise ValueError(f"line {first_line} or later: {fault}") from error


class _Builder:
    """Turns PyYAML's events into nodes, depth first."""

    def __init__(self, events: Iterator[Any], first_line: int) -> None:
        self._events = events
        self._first_line = first_line
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._built = 0

    def document(self) -> Node | None:
        found = None
        for event in self._events:
            if isinstance(event, yaml.NodeEvent):
                if found is not None:
                    raise ValueError(f"line {self._line(event)}: a second document begins")
                found = self._node(event, 0)
        return found

    def _line(self, event: Any) -> int:
        return self._first_line + int(event.start_mark.line)

    def _node(self, event: Any, depth: int) -> Node:
        line = self._line(event)
        if depth > _DEEPEST:
            raise ValueError(f"line {line}: nested more than {_DEEPEST} deep")
        if isinstance(event, yaml.AliasEvent):
            return self._repeated(str(event.anchor), line)
        before = self._built
        self._built += 1
        node = self._new(event, line, depth)
        if event.anchor:
            self._anchors[event.anchor] = node, self._built - before
        return node

    def _repeated(self, anchor: str, line: int) -> Node:
        """The value with this anchor."""
        if anchor not in self._anchors:
            raise ValueError(f"line {line}: there is no anchor &{anchor[:60]} before *{anchor[:60]}")
        node, size = self._anchors[anchor]
        self._built += size
        if self._built > MAX_COPIES:
            raise ValueError(f"line {line}: its aliases repeat more than {MAX_COPIES:,} values")
        return node

    def _new(self, event: Any, line: int, depth: int) -> Node:
        if isinstance(event, yaml.SequenceStartEvent):
            return Items(
                tuple(self._node(item, depth + 1) for item in self._until(yaml.SequenceEndEvent)), line
            )
        if isinstance(event, yaml.MappingStartEvent):
            return self._fields(line, depth)
        return Scalar(event.value, not event.style, line)

    def _fields(self, line: int, depth: int) -> Fields:
        fields: dict[str, Node] = {}
        again = []
        for event in self._until(yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise ValueError(
                    f"line {self._line(event)}: a name must be text; quote a value that begins with {{ or ["
                )
            node = self._node(next(self._events), depth + 1)
            if event.value in fields:
                again.append((event.value, node))
            else:
                fields[event.value] = node
        return Fields(fields, line, tuple(again))

    def _until(self, end: type[Any]) -> Iterator[Any]:
        while not isinstance(event := next(self._events), end):
            yield event
