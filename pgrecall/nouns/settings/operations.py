"""SQL calls for settings and languages."""

from __future__ import annotations

from collections.abc import Sequence

from pgrecall.encoding import require_text
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.operation import Operation, Row, read_int
from pgrecall.nouns.settings.models import Languages, Setting


def settings() -> Operation[tuple[Setting, ...]]:
    """Lists every setting with its value for the tenant, by name."""
    return Operation(
        "SELECT * FROM recall.settings()",
        {},
        lambda rows: tuple(_setting(row) for row in rows),
        repeatable=True,
    )


def set_setting(name: str, value: float | None) -> Operation[None]:
    """Sets a setting for the tenant, or resets it with None."""
    require_text(name, "The name of the setting")
    return Operation(
        "SELECT recall.set_setting(%(name)s, %(value)s)",
        {"name": name, "value": value},
        lambda _: None,
        repeatable=True,
    )


def languages() -> Operation[Languages]:
    """Reads the tenant's language and the available ones."""
    return Operation("SELECT * FROM recall.languages()", {}, _languages, repeatable=True)


def set_language(name: str) -> Operation[int]:
    """Sets the tenant's language; returns how many memories were analysed again."""
    require_text(name, "The name of the language")
    return Operation(
        "SELECT recall.set_language(%(name)s)",
        {"name": name},
        read_int,
        repeatable=True,
    )


def _languages(rows: Sequence[Row]) -> Languages:
    current = next(row["name"] for row in rows if row["current"])
    return Languages(current, tuple(row["name"] for row in rows), bool(rows[0]["accents_off"]))


def _setting(row: Row) -> Setting:
    values = dict(row)
    values["default"] = values.pop("default_value")
    return read_as(Setting, values)
