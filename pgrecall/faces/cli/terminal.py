"""A terminal, or what stands in its place: sentences, lines in colours, and tables, which rich draws.

Rich takes longer to import than a search takes to be answered: what a search prints does without it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from pgrecall.faces.cli.folding import Line, Piece, fold, plainly
from pgrecall.settings import terminal_variables

if TYPE_CHECKING:
    from rich.console import Console

    from pgrecall.faces.cli.tables import Table

BROKEN_PIPE = 141
"""The exit code when whoever read this went away, as ``head`` does."""

_WIDTH = 80
_ATTRIBUTES = frozenset({"bold", "dim", "italic"})
_BEYOND_SIXTEEN = {"dark_orange": (208, "bright_red")}
"""Colours by their number among 256, and the nearest of the sixteen that every terminal has."""


class Terminal:
    """A stream for people: as wide and as coloured as it allows, by the rules rich follows."""

    def __init__(self, stream: TextIO, *, width: int | None = None, soft_wrap: bool = False) -> None:
        self._stream, self._given, self._soft_wrap = stream, width, soft_wrap
        self._told = terminal_variables()

    @cached_property
    def width(self) -> int:
        """Cells in a line."""
        if self._given or (self.interactive and self._dumb):
            return self._given or _WIDTH
        columns = self._told.get("COLUMNS", "")
        return int(columns) if columns.isdigit() and int(columns) else _width()

    @cached_property
    def unicode(self) -> bool:
        """Whether signs beyond ASCII can be written."""
        return (getattr(self._stream, "encoding", None) or "utf-8").lower().startswith("utf")

    @cached_property
    def interactive(self) -> bool:
        """Whether a person sits in front of it."""
        return self._stream.isatty()

    @cached_property
    def styled(self) -> bool:
        """Whether it takes bold and colours."""
        if self._dumb:
            return False
        compatible, forced = self._told.get("TTY_COMPATIBLE"), self._told.get("FORCE_COLOR")
        if compatible in ("0", "1"):
            return compatible == "1"
        return self.interactive if forced is None else forced != ""

    def print(self, *pieces: str | Piece, soft_wrap: bool = False) -> None:
        """The pieces as one text without control characters, broken at the width; ``soft_wrap`` leaves that
        to the terminal."""
        line = plainly(pieces)
        self.lines([line] if soft_wrap or self._soft_wrap else fold(line, self.width))

    def lines(self, lines: Iterable[Line]) -> None:
        """Lines that were laid out before."""
        told = ("".join(self._in_style(*piece) for piece in line) for line in lines)
        self.out("".join(f"{line}\n" for line in told), end="")

    def out(self, text: str, end: str = "\n") -> None:
        """The text as it is."""
        try:
            self._stream.write(text + end)
            self._stream.flush()
        except BrokenPipeError:
            leave(self._stream)

    def show(self, table: Table) -> None:
        """The table, drawn by rich."""
        from pgrecall.faces.cli.rich_console import drawn

        self.rich.print(drawn(table))

    @cached_property
    def rich(self) -> Console:
        """Rich's console on the same stream."""
        from pgrecall.faces.cli.rich_console import PipeConsole

        return PipeConsole(
            file=self._stream,
            width=self._given,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=self._soft_wrap,
        )

    def _in_style(self, text: str, style: str) -> str:
        if not (text and style and self.styled):
            return text
        words = style.split()
        attributes = {word: True for word in words if word in _ATTRIBUTES}
        colour = next((word for word in words if word not in _ATTRIBUTES), None)
        if colour is None or self._told.get("NO_COLOR"):
            return click.style(text, **attributes) if attributes else text
        return click.style(text, fg=self._shown(colour), **attributes)

    def _shown(self, colour: str) -> int | str:
        """The colour as click knows it, in what the terminal has of colours."""
        number, nearest = _BEYOND_SIXTEEN.get(colour, (colour, colour))
        many = self._told.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit")
        return number if many or self._told.get("TERM", "").endswith(("256color", "kitty")) else nearest

    @property
    def _dumb(self) -> bool:
        return self._told.get("TERM", "").lower() in ("dumb", "unknown")


def leave(stream: TextIO) -> NoReturn:
    """Ends the command without a word: nobody reads this stream any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    raise SystemExit(BROKEN_PIPE)


def _width() -> int:
    """What the terminal says of itself, on whatever stream it is."""
    for stream in range(3):  # a pager takes the output, but the keyboard is the terminal's
        try:
            return os.get_terminal_size(stream).columns or _WIDTH
        except OSError:
            continue
    return _WIDTH
