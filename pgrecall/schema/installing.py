"""A schema that is there when it is needed. Alembic is imported only where something is to do."""

from __future__ import annotations

from pgrecall.schema import state


def ensure_current(url: str, *, dimensions: int, timeout: float = 10.0) -> state.SchemaState:
    """Installs or upgrades when, and only when, the schema is not this version's; keeps its dimensions."""
    found = state.inspect(url, timeout=timeout)
    if state.is_current(found):
        return found
    from pgrecall.schema.migrate import upgrade

    return upgrade(url, dimensions=None if found.dimensions else dimensions, timeout=timeout).after
