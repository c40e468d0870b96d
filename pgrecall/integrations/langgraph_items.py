"""How an item of a store is a memory: its key, its tags, its text; and which items a question means. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pgrecall.errors import InvalidInput, MissingExtra

try:
    from langgraph.store.base import get_text_at_path
except ImportError as error:
    raise MissingExtra("langgraph", "langgraph") from error

Namespace = tuple[str, ...]


def key_of(root: str, namespace: Namespace, key: str) -> str:
    """The key of the memory: no two items share one, whatever their labels hold."""
    return f"{tag_of(root, namespace)}/{_escaped(key)}"


def tag_of(root: str, namespace: Namespace) -> str:
    """The tag that all items of a namespace, and those below it, have."""
    return "/".join([root, *map(_escaped, namespace)])


def namespaces_of(root: str, keys: Iterable[str]) -> Iterator[tuple[str, Namespace]]:
    """The keys that are of items, each with the item's namespace."""
    depth = root.count("/") + 1
    for key in keys:
        if key.startswith(f"{root}/"):
            yield key, tuple(map(_unescaped, key.split("/")[depth:-1]))


def text_of(value: Mapping[str, Any], fields: Sequence[str]) -> str:
    """What of a value is searched: a line for each text in it, with its name where all of it is."""
    lines: list[str] = []
    for field in fields:
        lines += _lines("", value) if field == "$" else get_text_at_path(dict(value), field)
    return "\n".join(line for line in lines if line.strip())


def matches_filter(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a value has what a filter asks of its fields.

    Raises:
        InvalidInput: the filter has an operator that does not exist.
    """
    return all(_is_as_wanted(value.get(name), condition) for name, condition in wanted.items())


def is_match(namespace: Namespace, kind: str, path: Sequence[str]) -> bool:
    """Whether a namespace begins (``prefix``) or ends (``suffix``) with a path; ``*`` is any label."""
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if kind == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def _escaped(label: str) -> str:
    return label.replace("%", "%25").replace("/", "%2F")


def _unescaped(label: str) -> str:
    return label.replace("%2F", "/").replace("%25", "%")


def _lines(name: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner, part in value.items():
            yield from _lines(f"{name}.{inner}" if name else str(inner), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _lines(name, part)
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        yield f"{name}: {text}" if name else text


def _is_as_wanted(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if any(name.startswith("$") for name in wanted):
        return all(_compares(value, operator, operand) for operator, operand in wanted.items())
    return isinstance(value, Mapping) and matches_filter(value, wanted)


def _compares(value: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return bool(value == operand)
    if operator == "$ne":
        return bool(value != operand)
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise InvalidInput(
            f"There is no operator {operator!r:.50} in a filter.",
            hint="Use $eq, $ne, $gt, $gte, $lt or $lte.",
        )
    if not _comparable(value, operand):
        return False
    if operator in ("$gt", "$gte"):
        return bool(value > operand) or (operator == "$gte" and bool(value == operand))
    return bool(value < operand) or (operator == "$lte" and bool(value == operand))


def _comparable(value: object, operand: object) -> bool:
    numbers = all(isinstance(one, int | float) for one in (value, operand))
    return numbers or (isinstance(value, str) and isinstance(operand, str))
