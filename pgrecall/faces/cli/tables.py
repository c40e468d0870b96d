"""Tables as data: what stands in them is said here, and drawn by rich once one is shown."""

from __future__ import annotations

from collections.abc import Collection

from pgrecall.faces.cli.folding import Piece, plainly

Cell = str | Piece | list[Piece]
"""Text, text in a style, or a few of those one after the other."""


class Table:
    """Rows under headings, or without them names and values; columns named in ``right`` hold numbers."""

    def __init__(self, *columns: str | Piece, right: Collection[str] = (), headed: bool = True) -> None:
        self.columns, self.right, self.headed = [_pieces(column) for column in columns], right, headed
        self.rows: list[list[list[Piece]]] = []

    def add_row(self, *row: Cell) -> None:
        """Adds a row, a cell for each column."""
        self.rows.append([_pieces(cell) for cell in row])


def _pieces(cell: Cell) -> list[Piece]:
    return plainly(cell if isinstance(cell, list) else [cell])
