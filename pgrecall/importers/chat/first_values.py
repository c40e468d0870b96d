"""The first values of files, by which their format is detected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.files import ChatFile, chat_files
from pgrecall.importers.chat.values import json_lines, json_values
from pgrecall.nouns.imports.report import Problem

_SNIFFED = 20
"""Values at the beginning of a file by which its format is detected, besides those of bookkeeping."""

_MAX_SNIFFED = 100_000
"""Values in all, however many are of bookkeeping."""

_SNIFFED_FILES = 100


def first_values(path: Path) -> Iterator[Any]:
    """The first values of the first files at a path, as far as they are JSON."""
    for file in chat_files(path, follow_links=True)[:_SNIFFED_FILES]:
        yield from first_of(file)


def first_of(file: ChatFile) -> Iterator[Any]:
    """The first values of a file."""
    try:
        if file.has_lines:
            lines = (line for line in json_lines(file, _uncounted) if not isinstance(line, Problem))
            yield from _beginning(value for _, value in islice(lines, _MAX_SNIFFED))
        else:
            yield from islice(json_values(file, _uncounted), _SNIFFED)
    except InvalidInput:
        return


def _uncounted(_: str, __: int) -> None:
    """The beginning of a file is read twice, and counted once."""


def _beginning(values: Iterable[Any]) -> Iterator[Any]:
    """Values until some were not of bookkeeping, which has a type and no text of a record."""
    records = 0
    for value in values:
        yield value
        records += not (isinstance(value, dict) and "type" in value and not value.keys() & {"body", "text"})
        if records == _SNIFFED:
            return
