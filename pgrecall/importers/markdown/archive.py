"""A ZIP archive of notes, read as the folder that was packed."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from pgrecall.errors import InvalidInput
from pgrecall.importers.fields import ANY, Rules
from pgrecall.importers.files import (
    MAX_BYTES,
    ZIP_FAULTS,
    failure_reason,
    printable_path,
    problems_without_folder,
)
from pgrecall.importers.markdown.notes import is_note, what_is
from pgrecall.importers.markdown.reader import read_markdown
from pgrecall.importers.markdown.templates import MAX_SETTINGS_BYTES, SETTING_FILES, SETTINGS
from pgrecall.importers.zip_names import Names, leads_out_of, names_in
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft

_FAULTS_OF_A_NAME = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.EINVAL)
MAX_NOTES = 100_000
MAX_UNPACKED_BYTES = 1_000_000_000
"""Of all notes of an archive, unpacked."""


def notes_in(path: Path) -> Sequence[ZipInfo]:
    """The notes of an archive; none if it cannot be read."""
    try:
        return [entry for archive in _archives(path) for entry in _notes(archive)]
    except ZIP_FAULTS:
        return []


def _notes(archive: ZipFile) -> list[ZipInfo]:
    return [entry for entry in names_in(archive).entries if is_note(Path(entry.filename))]


def _archives(path: Path) -> Iterator[ZipFile]:
    """The archive; if it has only other archives in it, as exports of Notion do, each of those."""
    with ZipFile(path) as archive:
        packed = names_in(archive).entries
        size = sum(entry.file_size for entry in packed)
        if not packed or size > MAX_UNPACKED_BYTES or not all(map(_is_packed_twice, packed)):
            yield archive
            return
        for entry in packed:
            with archive.open(entry) as file, tempfile.TemporaryFile(prefix="pgrecall-notes-") as unpacked:
                shutil.copyfileobj(file, unpacked)
                with ZipFile(unpacked) as one:
                    yield one


def _is_packed_twice(entry: ZipInfo) -> bool:
    """Whether an entry is an archive, which hardly gets smaller when it is packed."""
    return entry.filename.lower().endswith(".zip") and entry.file_size < 10 * entry.compress_size + MAX_BYTES


def read_archive(
    path: Path, *, source: str, prefix: str, layer: str, rules: Rules = ANY
) -> Iterator[Draft | Problem | Skipped]:
    """Reads the notes of an archive. A folder that contains all of them is not part of their keys.

    Raises:
        InvalidInput: it cannot be read, leads out of itself, or unpacks to far more than notes are.
    """
    notes = notes_in(path)
    for entry in notes:
        if leads_out_of(entry):
            raise InvalidInput(
                f"{printable_path(path)} contains {entry.filename[:100]!r}, which leads out of the archive.",
                hint="Pack the folder again.",
            )
    size = sum(entry.file_size for entry in notes)
    if len(notes) > MAX_NOTES or size > MAX_UNPACKED_BYTES:
        raise InvalidInput(
            f"{printable_path(path)} has {len(notes):,} notes of {size:,} bytes; "
            f"{MAX_NOTES:,} of {MAX_UNPACKED_BYTES:,} bytes are read.",
            hint="Unpack it and import the folder.",
        )
    return _read(path, source, prefix, layer, rules)


def _read(
    path: Path, source: str, prefix: str, layer: str, rules: Rules
) -> Iterator[Draft | Problem | Skipped]:
    with tempfile.TemporaryDirectory(prefix="pgrecall-notes-") as name:
        folder = Path(name).resolve()
        yield from _unpack(path, folder)
        items = read_markdown(_top(folder), source=source, prefix=prefix, layer=layer, rules=rules)
        yield from problems_without_folder(items, folder)


def _unpack(path: Path, folder: Path) -> Iterator[Problem | Skipped]:
    """Writes the notes, and counts the other files.

    One that cannot be written is a problem, as is one of two with the same name.
    """
    try:
        for archive in _archives(path):
            found = names_in(archive)
            for name in found.repeated:
                if is_note(Path(name)):
                    yield Problem(name, "The archive contains it several times; the last one is read.")
            for entry in _notes(archive):
                if entry.file_size > MAX_BYTES:
                    yield Problem(
                        entry.filename, f"It has {entry.file_size:,} bytes; {MAX_BYTES:,} are read."
                    )
                elif fault := _write(archive, entry, folder / entry.filename):
                    yield Problem(printable_path(Path(entry.filename)), f"It cannot be unpacked: {fault}.")
            for entry in archive.infolist():
                if _names_templates(entry):
                    _write(archive, entry, folder / entry.filename)
            yield from _others(found)
    except ZIP_FAULTS as error:
        raise InvalidInput(
            f"{printable_path(path)} cannot be read: {failure_reason(error)}.", hint="Pack the folder again."
        ) from error


def _names_templates(entry: ZipInfo) -> bool:
    """Whether it is one of the settings of a vault that name its templates."""
    inside = f"/{entry.filename}".rpartition(f"/{SETTINGS}/")[2]
    return inside in SETTING_FILES and entry.file_size <= MAX_SETTINGS_BYTES and not leads_out_of(entry)


def _write(archive: ZipFile, entry: ZipInfo, target: Path) -> str | None:
    """Writes one note; the reason if it is at fault. Raises what is the fault of the disk or the archive."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as packed, target.open("wb") as file:
            shutil.copyfileobj(packed, file)
    except ZIP_FAULTS as error:
        if isinstance(error, OSError) and error.errno not in _FAULTS_OF_A_NAME:
            raise
        with suppress(OSError):  # what was written of it before it was found damaged
            target.unlink()
        return failure_reason(error)
    _date(target, entry)
    return None


def _others(found: Names) -> Iterator[Skipped]:
    """The files of an archive that are no notes, and what its names were read as."""
    if found.assumed:
        yield Skipped(f"names in the archive that are not UTF-8, read as {found.assumed}", found.foreign)
    for path in (Path(entry.filename) for entry in found.entries):
        if not is_note(path):
            yield Skipped(what_is(path), 1, (printable_path(path),))


def _date(file: Path, entry: ZipInfo) -> None:
    """Gives a note the time of its entry, which dates a note that names no date itself."""
    try:
        changed = datetime(*entry.date_time, tzinfo=UTC).timestamp()
    except ValueError:  # an archive may hold any numbers
        return
    os.utime(file, (changed, changed))


def _top(folder: Path) -> Path:
    """The folder that was packed, if all notes are in one, and a hidden one alone in it."""
    top = folder
    while len(inside := [entry for entry in top.iterdir() if entry.name != SETTINGS]) == 1:
        if not inside[0].is_dir() or (top != folder and not inside[0].name.startswith(".")):
            break
        top = inside[0]
    return top
