"""Standard output and standard error: sentences, tables, JSON and progress."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pgrecall.faces.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

ZONE_STYLES = {"active": "green", "stale": "yellow", "fading": "dark_orange", "dormant": "bright_black"}
_BAR = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"

_SECONDS_BETWEEN_LINES = 5.0


class SafeConsole(Console):
    """A console that shows text as it is stored: no markup, and no control characters.

    Text that is not a ``str`` must come from :func:`styled`, which removes control characters too.
    """

    def __init__(self, stream: TextIO, *, width: int | None = None) -> None:
        super().__init__(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)

    def on_broken_pipe(self) -> None:
        """Raises the error, because only the main program handles a closed pipe."""
        self.quiet = True
        raise BrokenPipeError from None

    @property
    def unicode(self) -> bool:
        """Whether the stream can write characters beyond ASCII."""
        return self.encoding.startswith("utf")


def output() -> SafeConsole:
    """Standard output, for the result of a command."""
    return SafeConsole(sys.stdout or io.StringIO())  # sys.stdout is None where it was closed


def notes() -> SafeConsole:
    """Standard error, for everything else."""
    return SafeConsole(sys.stderr or io.StringIO())


def styled(*pieces: str | tuple[str, str]) -> Text:
    """Pieces of text, each plain or with a style, as one text without control characters."""
    pairs = ((piece, "") if isinstance(piece, str) else piece for piece in pieces)
    return Text.assemble(*((printable(text), style) for text, style in pairs))


def table(*columns: str | Text, right: Collection[str] = (), header: bool = True) -> Table:
    """An empty table without borders. Columns named in ``right`` hold numbers; long cells are wrapped."""
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", show_header=header)
    for column in columns:
        made.add_column(column, justify="right" if str(column) in right else "left", overflow="fold")
    return made


def say(console: SafeConsole, sentence: str, *, style: str = "") -> None:
    """Prints a line."""
    console.print(styled((sentence, style)))


def say_more(console: SafeConsole, count: int, command: str = "") -> None:
    """Prints how many items are not shown, and the command that shows them."""
    if count > 0:
        say(console, f"  and {count:,} more{f' ({command})' if command else ''}")


def print_json(document: object) -> None:
    """Prints a value as one indented JSON document: letters stay letters, times are ISO 8601."""
    click.echo(json.dumps(plain(document), ensure_ascii=False, indent=2))


def plain(value: object) -> Any:
    """Dataclasses, mappings, tuples and times as JSON values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


class Progress:
    """Progress of long work on standard error: a bar on a terminal, a line every few seconds elsewhere.

    Args:
        what: the activity, such as ``importing``.
        unit: what is counted, such as ``notes``.
        total: how many there are; None while that is not known.
    """

    def __init__(self, what: str, unit: str, total: int | None) -> None:
        self._what, self._unit, self._total = what, unit, total
        self._console = notes()
        self._began_at = self._printed_at = time.monotonic()
        self._bar: Bar | None = None
        self.count = 0

    def __enter__(self) -> Progress:
        if self._console.is_interactive and self._console.file.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            unit, left = (
                TextColumn(self._unit + "{task.fields[pace]}{task.fields[detail]}"),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns, unit, left, console=self._console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=self._total, pace="", detail="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self, more: int) -> None:
        """Counts so many more."""
        self.reached(self.count + more)

    def reached(self, count: int, total: int | None = None, *, detail: str = "") -> None:
        """Sets the count, and the total if it has become known; ``detail`` describes the current item."""
        if total is not None:
            self._total = total
        self.count = count if self._total is None else min(count, self._total)
        if self._bar is not None:
            pace = pace_words(self.count, None, time.monotonic() - self._began_at)
            self._bar.update(self._task, completed=self.count, total=self._total, pace=pace, detail=detail)
        elif time.monotonic() - self._printed_at >= _SECONDS_BETWEEN_LINES:
            self._printed_at = time.monotonic()
            of = "" if self._total is None else f" of {self._total:,}"
            pace = pace_words(self.count, self._total, self._printed_at - self._began_at)
            self._console.print(f"{self._what}: {self.count:,}{of} {self._unit}{pace}{detail}")


def pace_words(done: int, total: int | None, seconds: float) -> str:
    """Describes the rate and, with a total, the remaining time: ``, 40 a second, 12 s left``."""
    if done <= 0 or seconds <= 0:
        return ""
    rate = done / seconds
    pace = f", {rate:,.0f} a second" if rate >= 1 else f", {60 * rate:,.1f} a minute"
    if total is None or total <= done:
        return pace
    left = round((total - done) / rate)
    return f"{pace}, {f'{left} s' if left < 120 else f'{left // 60:,} min'} left"


def vitality_bar(vitality: float, zone: str, *, unicode: bool) -> Text:
    """A bar of 8 cells in the zone's colour, and the number."""
    filled = min(max(vitality, 0.0), 1.0) * _BAR
    whole = int(filled)
    if unicode:
        part = _EIGHTHS[int((filled - whole) * 8)].strip() if whole < _BAR else ""
        bar = f"{'█' * whole}{part}".ljust(_BAR, "·")
    else:
        bar = f"{'#' * whole}".ljust(_BAR, ".")
    return styled((bar, ZONE_STYLES.get(zone, "")), f" {vitality:.2f}")


def zone_text(zone: str) -> Text:
    """The zone's name in its colour."""
    return styled((zone, ZONE_STYLES.get(zone, "")))
