"""Settings: every number that can be tuned, and the tenant's language."""

from __future__ import annotations

from collections.abc import Sequence

from pgrecall.encoding import require_text
from pgrecall.models.layers import Languages, Setting
from pgrecall.operations.operation import Operation, Row


def settings() -> Operation[tuple[Setting, ...]]:
    """Every setting with the value in force for the tenant, by name."""
    return Operation(
        "SELECT * FROM recall.settings()",
        {},
        lambda rows: tuple(_setting(row) for row in rows),
        repeatable=True,
    )


def configure(name: str, value: float | None) -> Operation[None]:
    """Gives a setting a value for the tenant, or takes the tenant's own away again."""
    require_text(name, "The name of the setting")
    return Operation(
        "SELECT recall.set_setting(%(name)s, %(value)s)",
        {"name": name, "value": value},
        lambda _: None,
        repeatable=True,
    )


def languages() -> Operation[Languages]:
    """The tenant's language, and those it could be."""
    return Operation("SELECT * FROM recall.languages()", {}, _languages, repeatable=True)


def set_language(name: str) -> Operation[int]:
    """Makes this the tenant's language; the result counts memories that were read anew."""
    require_text(name, "The name of the language")
    return Operation(
        "SELECT recall.set_language(%(name)s) AS changed",
        {"name": name},
        lambda rows: int(rows[0]["changed"]),
        repeatable=True,
    )


def _languages(rows: Sequence[Row]) -> Languages:
    current = next(row["name"] for row in rows if row["current"])
    return Languages(current, tuple(row["name"] for row in rows), bool(rows[0]["accents_off"]))


def _setting(row: Row) -> Setting:
    values = dict(row)
    values["default"] = values.pop("default_value")
    return Setting(**values)
