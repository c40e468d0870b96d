"""docs/reference/settings.md: the environment, and the numbers that can be tuned."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

from pgrecall.faces.http.reference.markdown import code, page, table
from pgrecall.settings import Settings
from scripts.reference.generated import HEAD

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
`pgrecall settings list` shows the values in force, `pgrecall settings set NAME VALUE` changes one for a
tenant, and `recall.settings()` and `recall.set_setting(name, value)` do the same in SQL.
"""
_GROUPS = {
    "database": "The database",
    "embedder": "The embedder",
    "reranker": "The reranker",
    "llm": "The language model",
    "context": "Contexts",
    "http": "The HTTP service",
    "oauth": "The HTTP service",
    "alert": "The worker",
    "backup": "The worker",
    "watch": "The worker",
    "role": "Roles",
    "allow": "Roles",
}


def settings_page(connection: Any) -> str:
    return HEAD + page(
        "Settings",
        ABOUT,
        [
            ("Environment", f"{ENVIRONMENT}\n{_environment()}"),
            ("Numbers in the database", f"{NUMBERS}\n{_numbers(connection)}"),
        ],
    )


def _environment() -> str:
    groups: dict[str, list[tuple[str, str, str, str]]] = {title: [] for title in _GROUPS.values()}
    for field in fields(Settings):
        title = _GROUPS.get(field.name.split("_")[0], "The database")
        about = field.metadata
        groups[title].append(
            (
                code(f"PGRECALL_{field.name.upper()}"),
                about["type"].description,
                _default(field),
                about["about"],
            )
        )
    head = ("variable", "is", "default", "meaning")
    return "\n\n".join(f"### {title}\n\n{table(head, rows)}" for title, rows in groups.items() if rows)


def _default(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return "pgrecall's folder in your account's data"
    if isinstance(field.default, bool):
        return code("yes" if field.default else "no")
    return "" if field.default is None else code(field.default)


def _plain(number: float) -> str:
    """Written out, with a comma at each thousand."""
    return f"{number:,.10f}".rstrip("0").rstrip(".")


def _numbers(connection: Any) -> str:
    asked = "SELECT name, default_value, low, high, about FROM recall_private.known_settings() ORDER BY name"
    groups: dict[str, list[tuple[str, ...]]] = {}
    for name, default, low, high, about in connection.execute(asked).fetchall():
        row = (code(name), f"{default:,.10g}", f"{_plain(low)} to {_plain(high)}", about)
        groups.setdefault(name.split(".")[0], []).append(row)
    head = ("name", "default", "range", "meaning")
    return "\n\n".join(f"### {group}\n\n{table(head, rows)}" for group, rows in groups.items())
