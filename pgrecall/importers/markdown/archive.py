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

_FAULTS_OF_AN_ENTRY = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.EINVAL)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MAX_NOTES = 100_000
MAX_UNPACKED_BYTES = 1_000_000_000
"""Of all notes of an archive, unpacked."""


def count_notes(path: Path) -> int | None:
    """The notes of an archive, 0 if it cannot be read; None if they are in archives of their own."""
    try:
        with ZipFile(path) as archive:
            packed = names_in(archive).entries
    except ZIP_FAULTS:
        return 0
    return None if _are_archives(packed) else len(_notes(packed))


def unpacked_bytes(path: Path) -> int:
    """The bytes of all files of an archive; of the archives in it, if it has nothing else.

    Raises ZIP_FAULTS.
    """
    with ZipFile(path) as archive:
        inside = (one for one in _archives(archive, names_in(archive)) if not isinstance(one, Problem))
        return sum(entry.file_size for inner, _ in inside for entry in inner.infolist())


def _notes(packed: Sequence[ZipInfo]) -> list[ZipInfo]:
    return [entry for entry in packed if is_note(Path(entry.filename))]


def _are_archives(packed: Sequence[ZipInfo]) -> bool:
    """Whether there are only archives, which hardly get smaller when packed, as in exports of Notion."""
    return 0 < sum(entry.file_size for entry in packed) <= MAX_UNPACKED_BYTES and all(
        entry.filename.lower().endswith(".zip") and entry.file_size < 10 * entry.compress_size + MAX_BYTES
        for entry in packed
    )


def read_archive(
    path: Path, *, source: str, prefix: str, layer: str, rules: Rules = ANY
) -> Iterator[Draft | Problem | Skipped]:
    """Reads the notes of an archive. A folder that contains all of them is not part of their keys.

    Raises:
        InvalidInput: it cannot be read, leads out of itself, or unpacks to far more than notes are.
    """
    with tempfile.TemporaryDirectory(prefix="pgrecall-notes-") as name:
        folder = Path(name).resolve()
        yield from _unpack(path, folder)
        items = read_markdown(_top(folder), source=source, prefix=prefix, layer=layer, rules=rules)
        yield from problems_without_folder(items, folder)


def _unpack(path: Path, folder: Path) -> Iterator[Problem | Skipped]:
    """Writes the notes, and counts the other files.

    One that cannot be written is a problem, as is one of two with the same name.
    """
    count = size = 0
    taken: set[str] = set()
    try:
        with ZipFile(path) as archive:
            names = names_in(archive)
            for one in _archives(archive, names):
                if isinstance(one, Problem):
                    yield one
                    continue
                notes = _notes(one[1].entries)
                count += len(notes)
                size += sum(entry.file_size for entry in notes)
                _require_notes(path, notes, count, size)
                yield from _unpack_one(*one, folder, taken)
    except ZIP_FAULTS as error:
        full = isinstance(error, OSError) and error.errno in _NO_ROOM
        raise InvalidInput(
            f"{printable_path(path)} cannot be {'unpacked' if full else 'read'}: {failure_reason(error)}.",
            hint=f"Make room in {tempfile.gettempdir()}." if full else "Pack the folder again.",
        ) from error
    if not count and _are_archives(names.entries):
        raise InvalidInput(
            f"{printable_path(path)} has only other archives in it, and no notes that can be read.",
            hint="Unpack it, and import what comes out of it.",
        )


def _archives(archive: ZipFile, names: Names) -> Iterator[tuple[ZipFile, Names] | Problem]:
    """The archive with its names; if it has only other archives in it, each of those that can be read."""
    if not _are_archives(names.entries):
        yield archive, names
        return
    for entry in names.entries:
        try:
            with archive.open(entry) as file, tempfile.TemporaryFile(prefix="pgrecall-notes-") as unpacked:
                shutil.copyfileobj(file, unpacked)
                with ZipFile(unpacked) as inner:
                    yield inner, names_in(inner)
        except ZIP_FAULTS as error:
            if _is_of_disk(error):
                raise
            yield Problem(entry.filename, f"It cannot be read: {failure_reason(error)}.")


def _is_of_disk(error: Exception) -> bool:
    """Whether the disk failed. What is at fault in an entry has no number, or that of a bad name or place."""
    number = error.errno if isinstance(error, OSError) else None
    return number is not None and number not in _FAULTS_OF_AN_ENTRY


def _require_notes(path: Path, notes: Sequence[ZipInfo], count: int, size: int) -> None:
    """Raises InvalidInput for notes that lead out of the archive, or are too many."""
    for entry in notes:
        if leads_out_of(entry):
            raise InvalidInput(
                f"{printable_path(path)} contains {entry.filename[:100]!r}, which leads out of the archive.",
                hint="Pack the folder again.",
            )
    if count > MAX_NOTES or size > MAX_UNPACKED_BYTES:
        raise InvalidInput(
            f"{printable_path(path)} has {count:,} notes of {size:,} bytes; "
            f"{MAX_NOTES:,} of {MAX_UNPACKED_BYTES:,} bytes are read.",
            hint="Unpack it and import the folder.",
        )


def _unpack_one(archive: ZipFile, found: Names, folder: Path, taken: set[str]) -> Iterator[Problem | Skipped]:
    """Writes the notes of one archive; ``taken`` are the names of those of others, and gets theirs."""
    notes = _notes(found.entries)
    names = {entry.filename for entry in notes}
    for name in sorted({*found.repeated, *taken} & names):
        yield Problem(name, "The archive contains it several times; the last one is read.")
    taken |= names
    for entry in notes:
        if entry.file_size > MAX_BYTES:
            yield Problem(entry.filename, f"It has {entry.file_size:,} bytes; {MAX_BYTES:,} are read.")
        elif fault := _write(archive, entry, folder / entry.filename):
            yield Problem(printable_path(Path(entry.filename)), f"It cannot be unpacked: {fault}.")
    for entry in archive.infolist():
        if _names_templates(entry):
            _write(archive, entry, folder / entry.filename)
    yield from _others(found)


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
        if _is_of_disk(error):
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
