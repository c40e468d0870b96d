"""Reading source files: existence checks, streaming of lines, and decoding with the position of errors."""

from __future__ import annotations

import errno
import gzip
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from io import FileIO
from lzma import LZMAError
from pathlib import Path
from typing import BinaryIO, cast
from zipfile import BadZipFile

from pgrecall.errors import InvalidInput
from pgrecall.importers.encodings import as_utf8
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft

OTHER_CHATS = (
    "Export notes of other programs as Markdown. Chats of other programs are imported as records in a .jsonl "
    'file, one a line: {"body": "See you at noon", "author": "Ann", "session_id": "team", '
    '"occurred_at": "2026-05-08T11:30:00Z"}.'
)
"""The way out for exports that no importer reads."""

ARCHIVES = (".zip", ".bear2bk", ".textpack")
"""How names of ZIP archives end; the others are those of Bear and of one note with its pictures."""

MAX_BYTES = 10_000_000
READ_FAULTS = (OSError, EOFError, zlib.error)
ZIP_FAULTS = (
    *READ_FAULTS,
    BadZipFile,
    LZMAError,
    RuntimeError,  # it is encrypted
    NotImplementedError,  # it is packed in a way that is not known
    UnicodeDecodeError,  # of a name
)
"""What reading a damaged archive raises."""

_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags of a file that is opened without waiting for the writer of a pipe."""

MAX_BLANK_LINES = 1_000_000
"""Of one file: a gigabyte of them packs to a megabyte, and takes many minutes."""


def require_folder(path: Path) -> None:
    """Raises InvalidInput unless ``path`` is a folder."""
    if path.is_dir():
        return
    if path.exists():
        raise InvalidInput(
            f"{printable_path(path)} is a file, not a folder.",
            hint="Pass the folder that contains the notes.",
        )
    raise InvalidInput(
        f"There is no folder {printable_path(path)}.", hint="Check the path; it must exist and be readable."
    )


def require_file(path: Path) -> None:
    """Raises InvalidInput unless ``path`` is a file. A pipe or a device may never end, and is read twice."""
    if path.is_dir():
        raise InvalidInput(f"{printable_path(path)} is a folder, not a file.", hint="Pass one file in it.")
    if not path.exists():
        raise InvalidInput(
            f"There is no file {printable_path(path)}.", hint="Check the path; it must exist and be readable."
        )
    if not path.is_file():
        raise InvalidInput(
            f"{printable_path(path)} is a pipe or a device, not a file.",
            hint="Save what it gives in a file. An export can be piped: pgrecall import -",
        )


def printable_path(path: Path) -> str:
    """The path as text that can be printed and stored, even if its name is not UTF-8."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def leads_out(path: Path, root: Path) -> bool:
    """Whether a path, with all symbolic links followed, is outside of ``root``, a resolved folder.

    A link that is replaced while it is followed counts as one.
    """
    try:
        return not Path(os.path.realpath(path)).is_relative_to(root)
    except OSError:
        return True


def open_within(path: Path, root: Path | None) -> BinaryIO:
    """Opens a file for reading bytes; with ``root``, a resolved folder, only what is in it once open.

    Whoever may write to the folder can put a link or a pipe in the place of a file that was looked at before.

    Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | _AT_ONCE)
    try:
        opened = Path(f"/proc/self/fd/{descriptor}")
        real = opened.readlink() if opened.is_symlink() else Path(os.path.realpath(path))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or (root and not real.is_relative_to(root)):
            raise PermissionError(errno.EPERM, "something else was put in its place")
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")  # last, since it fails on a folder and leaves the descriptor open


def link_problem(path: Path) -> Problem:
    """The problem of a symbolic link that is not followed."""
    reason = "It is a symbolic link to a place outside of the folder; --follow-links imports it."
    return Problem(printable_path(path), reason)


def open_bytes(path: Path, root: Path | None = None) -> BinaryIO:
    """Opens a file as `open_within` does, decompressing ``.gz``, as UTF-8 if a mark names UTF-16 or UTF-32.

    Raises OSError.
    """
    file = open_within(path, root)
    if path.suffix.lower() == ".gz":
        packed = gzip.GzipFile(fileobj=file)
        packed.myfileobj = cast(FileIO, file)  # else it leaves open what it was given
        file = cast(BinaryIO, packed)
    try:
        return as_utf8(file)  # reads the first bytes
    except READ_FAULTS:
        file.close()
        raise


def read_lines(path: Path, *, cut: list[str] | None = None) -> Iterator[tuple[int, bytes | None]]:
    """Line numbers from 1 with their bytes, without a byte order mark; None for a line over 10 MB.

    Given a list ``cut``, a file that breaks off after its first line ends there; the list gets the reason.

    Raises InvalidInput if the file cannot be read, and as for :func:`numbered_lines`.
    """
    number = 0
    try:
        with open_bytes(path) as file:
            for number, line in numbered_lines(file, printable_path(path), MAX_BYTES):
                yield number, line.removeprefix(b"\xef\xbb\xbf") if line and number == 1 else line
    except READ_FAULTS as error:
        if cut is None or not number:
            raise unreadable(path, error) from error
        cut.append(f"line {number + 1}: cannot be read: {failure_reason(error)}")


def numbered_lines(file: BinaryIO, shown: str, max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """Line numbers from 1 with their bytes; None for a line over ``max_bytes``.

    A line that is too long is skipped in pieces, so memory is bounded.

    Raises:
        InvalidInput: there are more than MAX_BLANK_LINES blank ones.
    """
    number = blank = 0
    while line := file.readline(max_bytes + 1):
        number += 1
        blank += line.isspace()
        if blank > MAX_BLANK_LINES:
            raise InvalidInput(f"{shown} has more than {MAX_BLANK_LINES:,} blank lines.", hint="Remove them.")
        too_long = len(line) > max_bytes
        yield number, None if too_long else line
        while too_long and not line.endswith(b"\n"):
            line = file.readline(max_bytes) or b"\n"


def read_bytes(path: Path) -> bytes:
    """The whole decompressed file. Raises InvalidInput if it cannot be read."""
    try:
        with open_bytes(path) as file:
            return file.read()
    except READ_FAULTS as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> InvalidInput:
    """The error for a file that exists but cannot be read completely."""
    return InvalidInput(
        f"{printable_path(path)} cannot be read: {failure_reason(error)}.",
        hint="Check its permissions, and that it is complete and no longer being written.",
    )


def failure_reason(error: Exception) -> str:
    """The reason of a failed read, without the path, which the caller adds."""
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return words or type(error).__name__


def write_undated(path: Path, data: bytes) -> None:
    """Writes a file that was sent without the time of its last change, so that no importer takes now for it.

    Otherwise the same note, sent again, would have another date and count as changed.
    """
    path.write_bytes(data)
    os.utime(path, (0, 0))


def without_folder(text: str, folder: Path) -> str:
    """A message about a file that was sent, which names it as its sender knows it."""
    return text.replace(f"{folder}/", "").replace(str(folder), "")


def problems_without_folder(
    items: Iterable[Draft | Problem | Skipped], folder: Path
) -> Iterator[Draft | Problem | Skipped]:
    """The items of a file that was sent; problems and notices name it as its sender knows it."""
    for item in items:
        if isinstance(item, Problem):
            yield Problem(without_folder(item.where, folder), without_folder(item.reason, folder))
        elif isinstance(item, Skipped):
            yield Skipped(item.what, item.count, tuple(without_folder(at, folder) for at in item.places))
        else:
            yield item
