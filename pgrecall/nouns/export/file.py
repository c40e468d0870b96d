"""Writing a tenant to a file and reading it, in one transaction and with little memory."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from threading import Event
from typing import BinaryIO, cast

from pgrecall.database.pool import Database
from pgrecall.errors import InvalidInput
from pgrecall.importers.files import (
    READ_FAULTS,
    failure_reason,
    open_bytes,
    printable_path,
    require_file,
    unreadable,
)
from pgrecall.nouns.export import operations
from pgrecall.nouns.export.models import Export
from pgrecall.version import __version__

Progress = Callable[[int, int], None]

FETCHED = 100
"""Lines fetched at a time: the longest has some megabytes."""

PORTION_LINES, PORTION_BYTES = 1000, 2_000_000
"""Lines stored at a time, fewer where they are long."""

MAX_LINE_BYTES = 256_000_000
"""Bytes; Postgres holds no JSON document beyond."""

SIGN = re.compile(rb'"pgrecall"\s*:\s*"export"')
"""What the first line of every export holds."""


class BrokenOff(Exception):
    """The caller of a transfer has stopped."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """What every transfer needs: the tenant, whether vectors are included, a callback, and a way to stop.

    ``progress`` is called with the lines that are done and those there are in all.
    """

    tenant: str
    embeddings: bool
    progress: Progress
    stop: Event = field(default_factory=Event)

    def reached(self, line: int, of: int) -> None:
        """So many lines are done; raises BrokenOff where no more are wanted."""
        if self.stop.is_set():
            raise BrokenOff
        self.progress(line, of)


def write_export(
    database: Database, target: Path | BinaryIO, transfer: Transfer, now: datetime | None
) -> Export:
    """Writes the tenant's lines; the file appears only when it is complete."""
    with database.open_transaction(transfer.tenant) as transaction, _written(target) as file:
        wanted = operations.export_lines(transfer.embeddings, f"pgrecall {__version__}", now)
        header: Export | None = None
        line = 0
        for rows in transaction.batches(wanted.sql, wanted.parameters, FETCHED):
            lines = wanted.read(rows)
            header = header or operations.header_of(lines[0])
            file.write("".join(f"{each}\n" for each in lines).encode())
            line += len(lines)
            transfer.reached(line, header.lines)
        assert header is not None  # it is the first line
        return header


def read_export(database: Database, source: Path | BinaryIO, transfer: Transfer) -> Export:
    """Stores the lines of an export as the tenant, which has to be empty: all of them or none.

    Raises:
        InvalidInput: the export is incomplete or cannot be stored here; names the line.
    """
    with _read(source) as file, database.open_transaction(transfer.tenant) as transaction:
        begun = operations.begin_import(_first_line(file), transfer.embeddings)
        header = begun.read(transaction.fetch(begun.sql, begun.parameters))
        for lines in _portions(file):
            stored = operations.import_lines(lines)
            line = stored.read(transaction.fetch(stored.sql, stored.parameters))
            transfer.reached(line, header.lines)
        ended = operations.end_import()
        counts = ended.read(transaction.fetch(ended.sql, ended.parameters))
        return replace(header, counts=counts, embeddings=header.embeddings and transfer.embeddings)


def is_export(path: Path) -> bool:
    """Whether a file that can be read begins as an export does."""
    try:
        with open_bytes(path) as file:
            return SIGN.search(file.readline(10_000)) is not None
    except READ_FAULTS:
        return False


def _first_line(file: BinaryIO) -> str:
    line = file.readline(1_000_000)
    if SIGN.search(line) is None:
        raise InvalidInput(
            "This is not an export of pgrecall: its first line is not a header.",
            hint="Give the whole output of `pgrecall export` or memory.export.write().",
        )
    return _text(line, 1)


def _portions(file: BinaryIO) -> Iterator[list[str]]:
    """The lines after the first, without their ends, in batches."""
    lines: list[str] = []
    size, number = 0, 1
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise InvalidInput(f"Line {number} of the export is longer than {MAX_LINE_BYTES:,} bytes.")
        lines.append(_text(line, number))
        size += len(line)
        if len(lines) == PORTION_LINES or size >= PORTION_BYTES:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def _text(line: bytes, number: int) -> str:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"Line {number} of the export is not UTF-8 (byte {error.start}).",
            hint="The file is damaged; nothing was stored.",
        ) from error
    if "\0" in text:
        raise InvalidInput(f"Line {number} of the export holds a NUL character.", hint="The file is damaged.")
    return text


@contextmanager
def _written(target: Path | BinaryIO) -> Iterator[BinaryIO]:
    """Where to write; a path gets its file once all is in it, packed where its name ends in ``.gz``."""
    if not isinstance(target, Path):
        yield target
        return
    try:
        if target.exists() and not target.is_file():
            # A device or a pipe is written into. A file in its place would be the end of /dev/null.
            with target.open("wb") as stream:
                yield stream
            return
        # What a link points to is replaced, not the link.
        with _replacing(Path(os.path.realpath(target)), packed=target.suffix == ".gz") as file:
            yield file
    except OSError as error:
        raise InvalidInput(
            f"{printable_path(target)} cannot be written: {failure_reason(error)}.",
            hint="Name a file in a folder that you can write to.",
        ) from error


@contextmanager
def _replacing(target: Path, *, packed: bool) -> Iterator[BinaryIO]:
    """A new file beside the target, which takes its place at the end, or is removed if the export fails.

    Its name is random, so that two exports to one file do not mix.
    """
    part = target.with_name(f"{target.name}.{token_hex(4)}.part")
    try:
        with part.open("xb") as plain, _packing(plain) if packed else nullcontext(plain) as file:
            yield file
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _packing(file: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file))


@contextmanager
def _read(source: Path | BinaryIO) -> Iterator[BinaryIO]:
    if not isinstance(source, Path):
        yield source
        return
    require_file(source)
    try:
        with open_bytes(source) as file:
            yield file
    except READ_FAULTS as error:
        raise unreadable(source, error) from error
