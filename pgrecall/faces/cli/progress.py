"""Progress of long work on standard error: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from pgrecall.faces.cli.base import notes

if TYPE_CHECKING:
    from rich import progress

_SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Shows how far a count has come; ``total`` None where nobody knows the end."""

    def __init__(self, what: str, things: str, total: int | None) -> None:
        self._what, self._things, self._total = what, things, total
        self._terminal = notes()
        self._told_at = time.monotonic()
        self._bar: progress.Progress | None = None
        self._count = 0

    def __enter__(self) -> Progress:
        if self._terminal.interactive and self._terminal.styled:
            from rich import progress

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TextColumn(self._things),
                progress.TimeRemainingColumn(),
                console=self._terminal.rich,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=self._total)
        return self

    def reached(self, count: int, total: int | None = None) -> None:
        """So many are done by now, of so many where that is known only now."""
        if total is not None:
            self._total = total
        self._count = count if self._total is None else min(count, self._total)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._count, total=self._total)
        elif time.monotonic() - self._told_at >= _SECONDS_BETWEEN_LINES:
            self._told_at = time.monotonic()
            of = "" if self._total is None else f" of {self._total:,}"
            self._terminal.print(f"{self._what}: {self._count:,}{of} {self._things}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
