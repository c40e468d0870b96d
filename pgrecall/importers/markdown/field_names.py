"""The names of fields in front matter: how they compare, and which say when a note was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_DATES = frozenset({
    "occurred", "date", "datetime", "timestamp", "created", "written", "published", "updated", "modified",
    "edited", "changed", "lastmod",
})  # fmt: skip
"""Words of which a name has one that says when a note was written."""

_OF_DATES = frozenset({"at", "on", "time"})
_PUBLISHED = frozenset({"published", "publish", "pub"})
_CHANGED = frozenset({"updated", "modified", "edited", "changed", "lastmod", "update", "edit", "last"})
_TRUTHS = ("true", "false", "yes", "no")


def normalized(name: str) -> str:
    """The form in which names of fields are compared: ``Created-At`` and ``createdAt`` are ``created_at``."""
    return re.sub(r"[\s-]+", "_", re.sub("(?<=[a-z])(?=[A-Z])", "_", name.strip())).casefold()


def date_names(found: Mapping[str, Any]) -> list[str]:
    """The names of fields that say when a note was written, in the words of many programs.

    The time of a change counts only if there is no other. ``published: true`` is no time.
    """
    names = {}
    for name, value in found.items():
        words = set(normalized(name).split("_"))
        others = words - _DATES - _OF_DATES - _PUBLISHED - _CHANGED - {"create", "creation"}
        is_date = words & _DATES or (words & _OF_DATES and words - _OF_DATES)
        if is_date and not others and str(value).casefold() not in _TRUTHS:
            names[normalized(name)] = words
    return sorted(names, key=lambda name: (
        bool(names[name] & _CHANGED), bool(names[name] & _PUBLISHED), name != "occurred_at", name != "date",
    ))  # fmt: skip
