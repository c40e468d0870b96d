"""Reads and parses one Markdown note."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from pgrecall.importers.files import LARGEST_BYTES, decode, reason
from pgrecall.importers.markdown.blocks import Block, read_blocks
from pgrecall.importers.markdown.folders import NoteFile
from pgrecall.importers.markdown.front_matter import FrontMatter, read_front_matter
from pgrecall.importers.markdown.inline import Line, RawLink
from pgrecall.importers.markdown.names import Named
from pgrecall.importers.markdown.sections import Section, split_sections
from pgrecall.importers.text import slugify, unique, words


@dataclass(frozen=True, slots=True)
class Note:
    """A parsed note. ``sections`` is empty for a note that is not split."""

    file: NoteFile
    front: FrontMatter
    title: str
    text: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...]
    changed_at: datetime | None

    @property
    def lines(self) -> Iterator[Line]:
        return (line for block in self.blocks for line in block.lines)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the front matter, then those in the text."""
        return unique([*self.front.tags, *(tag for line in self.lines for tag in line.tags)])

    @property
    def links(self) -> Iterator[RawLink]:
        return (link for line in self.lines for link in line.links)

    def named(self) -> Named:
        """The names of the note. Of two headings with the same text, the first counts."""
        parts: dict[str, str] = {}
        for section in self.sections:
            for heading in section.headings:
                parts.setdefault(slugify(heading), section.slug)
        return Named(self.file.relative, self.file.key, self.title, self.front.aliases, parts)


def read_note(file: NoteFile, split_at: int) -> Note:
    """Reads and parses one note. Raises ValueError if it cannot be used."""
    data, changed_at = _read(file.path)
    text = decode(data)
    if not text.strip():
        raise ValueError("the file is empty")
    try:
        front, body = read_front_matter(text)
    except ValueError as error:
        raise ValueError(f"front matter, {error}") from error
    blocks = tuple(read_blocks(body))
    title = front.title or _first_heading(blocks) or words(PurePosixPath(file.relative).name)
    shown = "\n".join(line.text for block in blocks for line in block.lines).strip("\n").rstrip()
    if not shown and front == FrontMatter():
        raise ValueError("the file contains no text")
    sections = tuple(split_sections(blocks, title, split_at)) if len(shown) > split_at else ()
    return Note(file, front, title, shown or title, blocks, sections, changed_at)


def _read(path: Path) -> tuple[bytes, datetime | None]:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
        changed = path.stat().st_mtime
    except OSError as error:
        raise ValueError(f"the file cannot be read: {reason(error)}") from error
    if len(data) > LARGEST_BYTES:
        raise ValueError(f"the file is larger than {LARGEST_BYTES // 1_000_000} MB")
    try:
        return data, datetime.fromtimestamp(changed, UTC)
    except (ValueError, OverflowError, OSError):
        return data, None


def _first_heading(blocks: tuple[Block, ...]) -> str:
    return next((block.heading for block in blocks if block.level == 1), "")
