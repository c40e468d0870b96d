"""A folder of notes kept in step: renamed notes keep their memories, those of deleted notes are archived."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from pgrecall.errors import InvalidInput
from pgrecall.faces import wording
from pgrecall.importers.files import printable_path
from pgrecall.importers.markdown.notes import note_file, walk
from pgrecall.importers.markdown.renames import note_of, renamed_keys
from pgrecall.jobs.job import Stopped
from pgrecall.nouns.imports.models import KeysRenamed
from pgrecall.nouns.imports.report import ImportReport, Problem, Skipped
from pgrecall.nouns.memories.models import Draft

if TYPE_CHECKING:
    from pgrecall import Memory

Items = Iterator[Draft | Problem | Skipped]


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """A folder of notes, as it is imported.

    Attributes:
        path: the folder.
        source: source of its memories.
        prefix: prefix of every key.
        follow_links: whether links that lead out of the folder are read.
    """

    path: Path
    source: str
    prefix: str = ""
    follow_links: bool = False

    def require(self) -> None:
        """Raises InvalidInput if the folder is not there: nothing is known of its notes then."""
        if not self.path.is_dir():
            raise InvalidInput(
                f"The folder {printable_path(self.path)} is gone; its memories are kept as they are.",
                hint="Start the command again when it is back.",
            )

    def notes(self) -> tuple[set[str], bool]:
        """The keys of the notes that are there, and whether every folder could be read."""
        present: set[str] = set()
        whole = True
        for found in walk(self.path, follow_links=self.follow_links):
            if isinstance(found, Problem):
                whole = whole and Path(found.where).is_symlink()  # a link that is not followed hides nothing
            elif isinstance(found, Path):
                try:
                    present.add(note_file(found, self.path, self.prefix).key)
                except ValueError:  # its name is not UTF-8: the import has told it
                    continue
        return present, whole


@dataclass(frozen=True, slots=True)
class Settled:
    """The outcome of bringing memories in step with a folder.

    Attributes:
        report: of the import; ``removed`` has what is gone and was not archived.
        renamed: memories with a new key.
        archived: memories whose note is gone, or whose part is gone from its note.
    """

    report: ImportReport
    renamed: int = 0
    archived: int = 0


class MostGone(InvalidInput):
    """More than half of the notes of a folder are gone: it was emptied, or another one is in its place."""


def settle(
    memory: Memory,
    folder: NoteFolder,
    read: Callable[[], Items],
    store: Callable[[Items, int | None], ImportReport],
    *,
    archive: bool = True,
    archive_most: bool = False,
    now: datetime | None = None,
) -> Settled:
    """Imports a folder: renames first, then all notes, then archives in one step what is gone.

    Args:
        memory: the client.
        folder: the folder.
        read: reads the whole folder.
        store: imports its items, as a part of the import with this id.
        archive: archive what is gone; nothing is archived where a part of the folder cannot be read.
        archive_most: archive even if more than half is gone, as after a failed mount.
        now: time to use instead of the database's clock.

    Raises:
        InvalidInput: the folder is not there. Nothing is changed.
        MostGone: more than half is gone. Only renames are stored: new notes would hide it the next time.
    """
    folder.require()
    seen: set[str] = set()
    stored = memory.keys_of(folder.source)
    present, whole = folder.notes() if stored else (set[str](), False)
    gone = [key for key in stored if note_of(key) not in present] if whole else []
    known = {note_of(key) for key in stored}
    renamed = KeysRenamed()
    if gone and present - known:
        renamed = follow_renames(memory, folder.source, gone, known, read, now=now)
    if archive and not archive_most:
        _require_most(folder, len(gone) - renamed.renamed, len(stored))
    report = store(_noting(read(), seen), renamed.import_id)
    folder.require()
    still, whole = folder.notes()
    # What vanished during the import may have another name by now, which the next one finds.
    removed = gone_keys(report.removed, seen, present | still) if whole and archive else ()
    archived = memory.imports.archive(folder.source, removed, import_id=report.import_id, now=now)
    left = tuple(key for key in report.removed if key not in set(removed))
    return Settled(replace(report, removed=left), renamed.renamed, archived)


def follow_renames(
    memory: Memory,
    source: str,
    gone: Sequence[str],
    known: Collection[str],
    read: Callable[[], Items],
    *,
    now: datetime | None = None,
) -> KeysRenamed:
    """Gives the memories of renamed notes their new keys, so that an import finds them there.

    Args:
        memory: the client.
        source: that of the folder which is about to be imported.
        gone: keys whose note is gone.
        known: keys of all notes that are stored; others are new.
        read: reads the whole folder.
        now: time to use instead of the database's clock.

    Returns:
        How many memories have a new key, and the import that undoes it.
    """
    new = {
        item.key: item.body
        for item in read()
        if isinstance(item, Draft) and item.key is not None and note_of(item.key) not in known
    }
    keys = renamed_keys({key: memory.get(key).body for key in gone}, new) if new else {}
    return memory.imports.rename(source, keys, now=now)


def gone_keys(removed: Iterable[str], seen: set[str], present: set[str]) -> tuple[str, ...]:
    """The keys whose note is gone, or whose part is gone from a note that was read.

    Args:
        removed: live keys of the source that the import did not read.
        seen: keys that it read.
        present: keys of the notes in the folder. One that could not be read keeps its memories.
    """
    return tuple(key for key in removed if (note := note_of(key)) in seen or note not in present)


def _require_most(folder: NoteFolder, gone: int, stored: int) -> None:
    if 2 * gone > stored:
        held = wording.counted(gone, "memory", "memories")
        raise MostGone(
            f"The notes of {held} are gone, more than half of {printable_path(folder.path)}; "
            "they are kept, and nothing is imported.",
            hint="If that is intended, import the folder with --archive-removed --archive-most.",
        )


def until_stopped(items: Items, stop: Event) -> Items:
    """The same items.

    Raises:
        Stopped: the event is set.
    """
    for item in items:
        if stop.is_set():
            raise Stopped
        yield item


def _noting(items: Items, seen: set[str]) -> Items:
    for item in items:
        if isinstance(item, Draft) and item.key is not None:
            seen.add(item.key)
        yield item
