"""The functions that a cell declares for roles other than the owner, read from its catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pgrecall.cells.cell import Cell
from pgrecall.cells.router import STATEMENTS


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A function, as the catalogue describes it.

    Args:
        arguments: all arguments as in a declaration, with types and defaults.
        names: their names, in order.
        result: what it returns, as in a declaration.
        returns_rows: whether that is a set.
        columns: the names of the columns of a table; empty for anything else.
    """

    name: str
    least_role: str
    arguments: str
    names: tuple[str, ...]
    result: str
    returns_rows: bool
    columns: tuple[str, ...]


def declared_functions(cell: Cell) -> tuple[DeclaredFunction, ...]:
    """Every declared function of a cell, by name. Types outside of pg_catalog have their schema."""
    with cell.owned() as connection:
        connection.execute("SET LOCAL search_path = pg_catalog")
        rows = connection.execute(STATEMENTS["declared"].encode()).fetchall()
    return tuple(_declared(**row) for row in rows)


def _declared(*, names: list[str], columns: list[str], **rest: Any) -> DeclaredFunction:
    return DeclaredFunction(names=tuple(names), columns=tuple(columns), **rest)
