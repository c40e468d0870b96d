"""The files of an export or a history: in a folder, in a ZIP archive, or one file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, cast
from zipfile import ZipFile, ZipInfo

from pgrecall.errors import InvalidInput
from pgrecall.importers.encodings import as_utf8
from pgrecall.importers.files import (
    ZIP_FAULTS,
    failure_reason,
    leads_out,
    link_problem,
    open_bytes,
    printable_path,
    require_file,
)
from pgrecall.importers.markdown.notes import is_note
from pgrecall.importers.zip_names import leads_out_of, names_in
from pgrecall.nouns.imports.report import Problem

_CONVERSATIONS = re.compile(
    r"(conversations(-[0-9]{1,6})?|prod-grok-backend|My ?Activity)\.json", re.IGNORECASE
)
_BESIDE = re.compile(
    r"(?:.*/)?(?:(?:projects|memories)(?:/[^/]+)?|(?:(?!Gemini)[^/])*+Gemini[^/]*/[^/]+)\.json"
)
"""Files of an export with names of their own: projects and memories of Claude, and what Google Takeout has of
Gemini, in the language of the account."""

_SESSION = re.compile(r"session-[\w-]+\.json")  # of Gemini CLI, before it wrote lines
_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
REPACK = "Export it again, or unpack it and import the folder."
"""The way out for a file that cannot be read."""

_BOMB_BYTES, _BOMB_RATIO = 200_000_000, 200
"""An entry that is larger, and packed better than text ever is, is refused; JSON packs to a tenth."""


@dataclass(frozen=True, slots=True)
class ChatFile:
    """One file; ``entry`` is where it is in the ``archive`` at ``path``, ``root`` the folder that is read, if
    it is in one. All files of an archive share one: it reads the list of its entries when it is opened."""

    path: Path
    entry: ZipInfo | None = None
    root: Path | None = None
    archive: ZipFile | None = None
    within: Path | None = None
    """The resolved folder in which it must be when it is opened, where links out are not followed."""

    @property
    def stem(self) -> str:
        """The name without folder and endings."""
        name = Path(self.own_name).name.removesuffix(".gz")
        return printable_path(Path(name.rpartition(".")[0] or name))

    @property
    def name(self) -> str:
        """The name without endings, with the folders that it is in: files in two may have one name."""
        folder = self.path.parent.relative_to(self.root).as_posix() if self.root else "."
        if self.entry is not None and not (self.is_export or self.is_beside):
            folder = Path(self.entry.filename).parent.as_posix()
        return self.stem if folder == "." else f"{printable_path(Path(folder))}/{self.stem}"

    @property
    def shown(self) -> str:
        return printable_path(self.path) + (f": {self.entry.filename}" if self.entry else "")

    @property
    def is_export(self) -> bool:
        """Whether it has the conversations of an export, by its name."""
        return _CONVERSATIONS.fullmatch(self.own_name.rpartition("/")[2]) is not None

    @property
    def is_beside(self) -> bool:
        """Whether it is in an export under a name that does not tell that it has conversations."""
        if self.root is not None:
            return _BESIDE.fullmatch(self.path.relative_to(self.root).as_posix()) is not None
        return self.entry is not None and _BESIDE.fullmatch(self.entry.filename) is not None

    @property
    def has_lines(self) -> bool:
        """Whether it has JSON Lines, by its name."""
        return self.own_name.lower().endswith(_LINES)

    @property
    def own_name(self) -> str:
        """The name with endings, in an archive with folders."""
        return self.entry.filename if self.entry else self.path.name

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file, open for reading bytes. Raises InvalidInput if it cannot be read."""
        try:
            if self.entry is None or self.archive is None:
                with open_bytes(self.path, self.within) as file:
                    yield file
            else:
                with self.archive.open(self.entry) as entry:
                    yield as_utf8(cast(BinaryIO, entry))
        except ZIP_FAULTS as error:
            raise InvalidInput(
                f"{self.shown} cannot be read: {failure_reason(error)}.", hint=REPACK
            ) from error


def chat_files(path: Path, *, follow_links: bool = False) -> Sequence[ChatFile]:
    """The files with conversations at a path, in the order of their names.

    A symbolic link out of a folder is no such file, unless ``follow_links``.

    Raises:
        InvalidInput: the path does not exist, or is an archive that cannot or must not be read.
    """
    if path.is_dir():
        return _in_folder(path, follow_links)
    require_file(path)
    return _in_archive(path) if path.suffix.lower() == ".zip" else [ChatFile(path)]


def _in_folder(folder: Path, follow_links: bool) -> list[ChatFile]:
    paths, within = _walk(folder, follow_links), None if follow_links else folder.resolve()
    files = [ChatFile(path, root=folder, within=within) for path in paths if path.is_file()]
    exports = [file for file in files if file.is_export]
    if exports:
        return exports + [file for file in files if file.is_beside and not file.is_export]
    return _sessions(files)


def _sessions(files: Sequence[ChatFile]) -> list[ChatFile]:
    """Those with lines, which coding agents write; else those with JSON, as chat programs export it."""
    lines = [file for file in files if _has_session(file.own_name)]
    return lines or [file for file in files if file.own_name.lower().endswith(".json")]


def _has_session(name: str) -> bool:
    return name.lower().endswith(_LINES) or _SESSION.fullmatch(name.rpartition("/")[2]) is not None


def _walk(folder: Path, follow_links: bool) -> Iterator[Path]:
    """The entries of a folder that are no folders. Enters each linked folder once, so that loops end."""
    root = folder.resolve()
    entered = {str(root)}
    for place, folders, names in os.walk(folder, followlinks=True):
        within = {name: os.path.realpath(Path(place, name)) for name in sorted(folders)}
        folders[:] = []
        for name, real in within.items():
            if real not in entered and (follow_links or Path(real).is_relative_to(root)):
                entered.add(real)
                folders.append(name)
        for path in (Path(place, name) for name in sorted(names)):
            if follow_links or not path.is_symlink() or not leads_out(path, root):
                yield path


def not_read(folder: Path, *, follow_links: bool) -> list[Problem]:
    """The sessions in a folder that are packed in a way that is not read, and its links out."""
    packed = [
        Problem(printable_path(path), "It is packed with Zstandard; unpack it with `unzstd`.")
        for path in _walk(folder, follow_links)
        if path.name.lower().endswith(tuple(f"{ending}.zst" for ending in _LINES))
    ]
    return packed if follow_links else packed + _links_out(folder)


def _links_out(folder: Path) -> list[Problem]:
    """The symbolic links to folders, and to what would be read, outside of a folder."""
    root = folder.resolve()
    links = (
        Path(place, name)
        for place, folders, names in os.walk(folder)
        for name in sorted([*folders, *filter(_CONVERSATIONS.fullmatch, names), *filter(_has_session, names)])
    )
    return [link_problem(link) for link in links if link.is_symlink() and leads_out(link, root)]


def other_files(path: Path, read: Sequence[ChatFile], *, follow_links: bool = False) -> list[ChatFile]:
    """The files at a path that are not among those that are read: pictures, settings, a page to look at.

    Raises:
        InvalidInput: the path is an archive that cannot be read.
    """
    if path.is_dir():
        found = [ChatFile(one, root=path) for one in _walk(path, follow_links)]
    else:
        found = _entries(path) if path.suffix.lower() == ".zip" else []
    known = {file.shown for file in read}
    return [file for file in found if file.shown not in known]


def _entries(path: Path) -> list[ChatFile]:
    try:
        archive = ZipFile(path)
        return [ChatFile(path, entry, archive=archive) for entry in names_in(archive).entries]
    except ZIP_FAULTS as error:
        raise InvalidInput(
            f"{printable_path(path)} cannot be read: {failure_reason(error)}.", hint=REPACK
        ) from error


def _in_archive(path: Path) -> list[ChatFile]:
    files = sorted(_entries(path), key=attrgetter("own_name"))
    for file in files:
        if file.entry is not None and leads_out_of(file.entry):
            raise InvalidInput(
                f"{printable_path(path)} contains {file.own_name[:100]!r}, which leads out of the archive.",
                hint=REPACK,
            )
    chosen = [file for file in files if file.is_export or file.is_beside]
    if not chosen and not _is_vault(files):
        chosen = _sessions([file for file in files if not file.own_name.lower().endswith(".gz")])
    for file in chosen:
        if file.entry is not None:
            _require_readable(path, file.entry)
    return chosen


def _is_vault(files: Sequence[ChatFile]) -> bool:
    """Whether notes lie at the top of what was packed; deeper ones may be those of an agent."""
    names = [Path(file.own_name) for file in files]
    top = Path(os.path.commonpath([name.parent for name in names])) if names else Path()
    return any(is_note(name) and name.parent == top for name in names)


def _require_readable(path: Path, entry: ZipInfo) -> None:
    if entry.flag_bits & 1:
        raise InvalidInput(f"{printable_path(path)} is encrypted.", hint="Unpack it and import the folder.")
    if entry.file_size > _BOMB_BYTES and entry.file_size > _BOMB_RATIO * max(entry.compress_size, 1):
        raise InvalidInput(
            f"{printable_path(path)}: {entry.filename} would unpack to {entry.file_size:,} bytes from "
            f"{entry.compress_size:,}, which is not a text.",
            hint="If you trust it, unpack it and import the folder.",
        )
