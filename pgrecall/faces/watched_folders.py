"""The folders of notes that a worker keeps in step, as `import --watch` does: what its job `import` calls."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from pgrecall.errors import DatabaseUnavailable, InvalidInput, RecallError
from pgrecall.faces.import_rules import import_rules
from pgrecall.faces.note_folder import Items, NoteFolder, settle, until_stopped
from pgrecall.importers.detect import open_source, source_name
from pgrecall.importers.files import printable_path
from pgrecall.importers.markdown.notes import walk
from pgrecall.nouns.imports.report import ImportReport, Problem

if TYPE_CHECKING:
    from pgrecall import Memory

QUIET_SECONDS = 1.0
"""Seconds without a change after which changes count as settled; a half-written file still changes."""

MAX_CHECKS = 30
"""Checks for changes in a row, after which a folder is imported though it still changes."""

Stamp = frozenset[tuple[str, int, int]]
"""What tells whether a folder has changed: path, time and size of each note."""

logger = logging.getLogger("pgrecall.jobs")


@dataclass(slots=True)
class WatchedFolders:
    """Imports folders of notes that have changed since this process last imported them.

    Attributes:
        memory: a client without an embedder: the job ``embed`` makes the vectors.
        paths: the folders.
    """

    memory: Memory
    paths: Sequence[Path]
    _imported: dict[Path, Stamp] = field(default_factory=dict)
    _told: set[Problem] = field(default_factory=set)

    def __call__(self, stop: Event) -> Mapping[str, int]:
        """Imports each folder that has changed, archives what is gone, and counts.

        Args:
            stop: once set, the import ends; what is stored stays.

        Raises:
            Stopped: it ended so.
            InvalidInput: a folder is missing or cannot be read, or more than half of it is gone. The others
                were imported.
            DatabaseUnavailable: the database does not answer.
        """
        counts: Counter[str] = Counter()
        errors: list[RecallError] = []
        for path in self.paths:
            try:
                counts.update(self._settle(path, stop))
            except DatabaseUnavailable:
                raise
            except RecallError as error:
                errors.append(error)
        if errors:  # runs of jobs keep the message alone, so it has the ways out too
            raise InvalidInput(" ".join(map(str, errors)))
        return counts

    def _settle(self, path: Path, stop: Event) -> Mapping[str, int]:
        stamp = _stamp_of(path)
        if self._imported.get(path) == stamp:
            return {}
        for _ in range(MAX_CHECKS):
            stop.wait(QUIET_SECONDS)
            before, stamp = stamp, _stamp_of(path)
            if before == stamp:
                break
        source = source_name(path, "markdown")
        folder = NoteFolder(path.resolve(), source)
        rules = import_rules(self.memory.layers.list())
        read: partial[Items] = partial(open_source, path, kind="markdown", source=source, rules=rules)

        def store(items: Items, import_id: int | None) -> ImportReport:
            return self.memory.import_drafts(until_stopped(items, stop), source=source, import_id=import_id)

        done = settle(self.memory, folder, read, store)
        self._tell(done.report)
        self._imported[path] = stamp
        return {
            "renamed": done.renamed, "created": done.report.created, "updated": done.report.updated,
            "archived": done.archived, "problems": len(done.report.problems),
        }  # fmt: skip

    def _tell(self, report: ImportReport) -> None:
        for problem in report.problems:
            if problem not in self._told:
                logger.warning("%s: %s", problem.where, problem.reason)
        self._told = set(report.problems)


def _stamp_of(path: Path) -> Stamp:
    """The stamp of a folder.

    Raises:
        InvalidInput: it is not there, or cannot be read.
    """
    hint = "Its memories are kept. Mount it on the machine of the worker, or correct PGRECALL_WATCH."
    if not path.is_dir():
        raise InvalidInput(f"The folder {printable_path(path)} is not there.", hint=hint)
    try:
        next(path.iterdir(), None)
        return frozenset(_stamps(path))
    except OSError as error:
        raise InvalidInput(
            f"The folder {printable_path(path)} cannot be read: {error.strerror}.", hint=hint
        ) from error


def _stamps(path: Path) -> Iterator[tuple[str, int, int]]:
    for found in walk(path, follow_links=False):
        if isinstance(found, Path):
            try:
                about = found.stat()
            except FileNotFoundError:  # deleted since: the next stamp is without it
                continue
            yield str(found), about.st_mtime_ns, about.st_size
