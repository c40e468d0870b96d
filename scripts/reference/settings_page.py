"""docs/reference/settings.md: the environment, and the numbers that can be tuned."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from pgrecall.settings import Settings
from scripts.reference.markdown import code, page, table

ABOUT = """
Two kinds: variables of the environment, read once by whatever starts (the command, a client, the service),
and numbers kept in the database, which hold for everybody who uses it. [Tuning](../howto/tune.md) explains
the numbers that matter.
"""
ENVIRONMENT = """
Options of the command and arguments of `Memory` and `AsyncMemory` win over variables. A value that cannot
be used is refused by name.
"""
NUMBERS = """
`pgrecall setting list` shows the values in force, `pgrecall setting set NAME VALUE` changes one for a
tenant, and `recall.settings()` and `recall.configure(name, value)` do the same in SQL.
"""
_GROUPS = {
    "database": "The database",
    "embedder": "The embedder",
    "reranker": "The reranker",
    "server": "Models of a running service",
    "http": "The HTTP service",
    "role": "Roles",
    "allow": "Roles",
}
_TYPES = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "yes or no",
    Path: "path",
    SecretStr: "text",
}


def settings_page(connection: Any) -> str:
    return page(
        "Settings",
        ABOUT,
        [
            ("Environment", f"{ENVIRONMENT}\n{_environment()}"),
            ("Numbers in the database", f"{NUMBERS}\n{_numbers(connection)}"),
        ],
    )


def _environment() -> str:
    groups: dict[str, list[tuple[str, str, str, str]]] = {title: [] for title in _GROUPS.values()}
    for name, field in Settings.model_fields.items():
        title = _GROUPS.get(name.split("_")[0], "The database")
        groups[title].append(
            (code(f"PGRECALL_{name.upper()}"), _is(field), _default(field), field.description or "")
        )
    head = ("variable", "is", "default", "meaning")
    return "\n\n".join(f"### {title}\n\n{table(head, rows)}" for title, rows in groups.items() if rows)


def _is(field: FieldInfo) -> str:
    bounds = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}
    told = [
        words.format(f"{getattr(rule, name):,}")
        for rule in field.metadata
        for name, words in bounds.items()
        if getattr(rule, name, None) is not None
    ]
    return f"{_type(field.annotation)} ({', '.join(told)})" if told else _type(field.annotation)


def _type(annotation: Any) -> str:
    if get_origin(annotation) in (Union, types.UnionType):
        return " or ".join(_type(one) for one in get_args(annotation) if one is not type(None))
    if get_origin(annotation) is Literal:
        return ", ".join(code(value) for value in get_args(annotation))
    return _TYPES[annotation]


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return "pgrecall's folder in your account's data"
    return "" if field.default is None else code(field.default)


def _plain(number: float) -> str:
    """Written out, with a comma at each thousand."""
    return f"{number:,.10f}".rstrip("0").rstrip(".")


def _numbers(connection: Any) -> str:
    asked = "SELECT name, default_value, low, high, about FROM recall.known_settings() ORDER BY name"
    groups: dict[str, list[tuple[str, ...]]] = {}
    for name, default, low, high, about in connection.execute(asked).fetchall():
        row = (code(name), f"{default:,.10g}", f"{_plain(low)} to {_plain(high)}", about)
        groups.setdefault(name.split(".")[0], []).append(row)
    head = ("name", "default", "range", "meaning")
    return "\n\n".join(f"### {group}\n\n{table(head, rows)}" for group, rows in groups.items())
