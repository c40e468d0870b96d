"""Notes that were renamed since the last import: their memories get the new keys before the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgrecall.faces import wording
from pgrecall.faces.cli.rendering.console import notes
from pgrecall.importers.markdown.notes import note_file, walk
from pgrecall.importers.markdown.renames import note_of, renamed_keys
from pgrecall.models.import_export import Problem, Skipped
from pgrecall.models.memories import Draft

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


def follow_renames(
    memory: Memory, folder: NoteFolder, read: Callable[[], Items], *, now: datetime | None = None
) -> int:
    """Gives the memories of renamed notes their new keys, so that an import finds them there.

    The folder is read only if notes are gone and others are new.

    Args:
        memory: the client.
        folder: the folder that is about to be imported.
        read: reads the whole folder.
        now: time to use instead of the database's clock.

    Returns:
        How many memories have a new key.
    """
    stored = memory.keys_of(folder.source)
    if not stored:
        return 0
    present, whole = folder.notes()
    known = {note_of(key) for key in stored}
    gone = [key for key in stored if note_of(key) not in present]
    if not (whole and gone and present - known):
        return 0
    new = {
        item.key: item.body
        for item in read()
        if isinstance(item, Draft) and item.key is not None and note_of(item.key) not in known
    }
    keys = renamed_keys({key: memory.get(key).body for key in gone}, new) if new else {}
    return memory.rename_keys(folder.source, keys, now=now) if keys else 0


def tell_renamed(count: int) -> None:
    """Says how many memories have a new key, if any."""
    if count:
        kept = wording.counted(count, "memory has", "memories have")
        notes().print(f"{kept} a new key, because notes were renamed.")
