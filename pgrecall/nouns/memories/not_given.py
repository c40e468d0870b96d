"""Defaults of the fields of a draft, which can be told from values that were given."""

from __future__ import annotations

from typing import Any


class NotGiven:
    """The default of a field of a draft: a memory with the draft's key keeps its own value.

    Each is a text, a tuple or a dict that equals the value of a new memory, so that whoever only reads a
    draft need not tell the two apart.
    """

    __slots__ = ()


class _NoText(NotGiven, str):
    __slots__ = ()


class _NoItems(NotGiven, tuple[Any, ...]):
    __slots__ = ()


class NoFields(NotGiven, dict[str, Any]):
    """No metadata. A dict of its own for each draft."""

    __slots__ = ()


NO_TEXT, USUAL_LAYER, NO_ITEMS = _NoText(), _NoText("knowledge"), _NoItems()


def given(value: object) -> bool:
    """Whether a field of a draft was given; None is not."""
    return value is not None and not isinstance(value, NotGiven)


def plain(default: Any) -> Any:
    """A default as a value of its own type, as serializers know it."""
    if not isinstance(default, NotGiven):
        return default
    value: Any = default
    return str(value) if isinstance(value, str) else tuple(value)
