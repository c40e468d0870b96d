"""What is drawn by rich, which takes longer to import than a search takes to be answered."""

from __future__ import annotations

from typing import NoReturn, TextIO, cast

from rich import table
from rich.console import Console
from rich.text import Text

from pgrecall.faces.cli.folding import text_of
from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.terminal import leave


class PipeConsole(Console):
    """A console whose reader may go away, as ``head`` does, without a word."""

    def on_broken_pipe(self) -> NoReturn:
        self.quiet = True
        leave(cast(TextIO, self.file))


def drawn(shown: Table) -> table.Table:
    """The table as rich lays it out: what does not fit in a column goes on in the next line."""
    made = table.Table(
        box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", show_header=shown.headed
    )
    for column in shown.columns:
        made.add_column(
            Text.assemble(*column),
            justify="right" if text_of(column) in shown.right else "left",
            overflow="fold",
            no_wrap=not shown.headed and column is shown.columns[0],
        )
    for row in shown.rows:
        made.add_row(*(Text.assemble(*cell) for cell in row))
    return made
