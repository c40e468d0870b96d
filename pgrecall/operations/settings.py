"""Settings: every number that can be tuned."""

from __future__ import annotations

from pgrecall.encoding import require_text
from pgrecall.models import Setting
from pgrecall.operations.base import Operation, Row


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
        "SELECT recall.configure(%(name)s, %(value)s)",
        {"name": name, "value": value},
        lambda _: None,
        repeatable=True,
    )


def _setting(row: Row) -> Setting:
    values = dict(row)
    values["default"] = values.pop("default_value")
    return Setting(**values)
