"""Lists the notes of a folder in order, with their keys."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgrecall.importers.files import reason, show
from pgrecall.models.import_export import Problem

SUFFIXES = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class NoteFile:
    """The file of a note. ``relative`` is its path in the folder: NFC, forward slashes, no suffix."""

    path: Path
    relative: str
    key: str


def walk(folder: Path) -> Iterator[Path | Problem]:
    """The Markdown files below ``folder``, sorted by name within each folder.

    Skips hidden files and folders. Enters each linked folder once, so that loops end.
    """
    return _walk(folder, set())


def _walk(folder: Path, entered: set[tuple[int, int]]) -> Iterator[Path | Problem]:
    try:
        at = folder.stat()
        if (at.st_dev, at.st_ino) in entered:
            return
        entered.add((at.st_dev, at.st_ino))
        with os.scandir(folder) as found:
            entries = sorted(
                (entry for entry in found if not entry.name.startswith(".")), key=lambda e: e.name
            )
    except OSError as error:
        yield Problem(show(folder), f"The folder cannot be read: {reason(error)}.")
        return
    for entry in entries:
        path = folder / entry.name
        if _is_folder(entry):
            yield from _walk(path, entered)
        elif is_note(path) and (_is_file(entry) or entry.is_symlink()):
            yield path


def is_note(path: Path) -> bool:
    """Whether the name has a Markdown suffix."""
    return path.suffix.lower() in SUFFIXES


def note_file(path: Path, folder: Path, prefix: str) -> NoteFile:
    """The file with its key: prefix and path without suffix.

    ``#`` becomes ``-``, because it separates note and section in a key. Raises ValueError for a name that is
    not UTF-8.
    """
    relative = path.relative_to(folder).with_suffix("").as_posix()
    try:
        relative.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError("the file's name is not UTF-8; rename it") from error
    composed = unicodedata.normalize("NFC", relative)
    return NoteFile(path, composed, prefix + composed.replace("#", "-"))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False
