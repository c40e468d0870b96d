"""Lists the notes of a folder with their keys, and reads one note."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path, PurePosixPath

from pgrecall.importers.dates import day_in_name
from pgrecall.importers.encodings import decode
from pgrecall.importers.fields import ANY, Rules, fits
from pgrecall.importers.files import (
    MAX_BYTES,
    failure_reason,
    leads_out,
    link_problem,
    open_within,
    printable_path,
)
from pgrecall.importers.markdown.blocks import Block, read_blocks
from pgrecall.importers.markdown.front_matter import (
    FrontMatter,
    is_of_placeholders,
    is_placeholder,
    read_front_matter,
    with_properties,
)
from pgrecall.importers.markdown.inline import Line, RawLink
from pgrecall.importers.markdown.joplin import item_in, read_item
from pgrecall.importers.markdown.names import Named
from pgrecall.importers.markdown.sections import Section, split_sections
from pgrecall.importers.text import composed, file_words, folded_name, normalized_name, slugify, unique
from pgrecall.nouns.imports.report import Problem, Skipped

_GENERIC = frozenset({"readme", "index", "_index"})
_NOTION = re.compile(" [0-9a-f]{32}$")
"""What Notion adds to the name of an exported page."""

_ZETTEL = re.compile(r"[0-9]{12,14}(?=[ _-])")
"""The number of a note in a Zettelkasten, by which others link it."""

_DRAWING = re.compile(r"^(?:%%\n)?##? Drawing$", re.MULTILINE)
DRAWINGS = "drawings of Excalidraw, left out of their notes"
OTHER_FILES = "files that are no notes, passed over"
OTHER_TEXTS = "texts that do not end in .md, passed over"
TEXT_SUFFIXES = (
    ".org", ".txt", ".rst", ".adoc", ".mdx", ".qmd", ".rmd", ".mkd", ".mdown", ".ipynb", ".html", ".tid",
    ".enex", ".opml", ".docx", ".odt", ".rtf", ".epub",
)  # fmt: skip
"""Of what other programs keep or export notes as."""

TEMPLATES = "templates, passed over"
FUTURE_FILES = "times of files that lie in the future, ignored"


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
    notices: tuple[Skipped, ...] = ()

    @property
    def lines(self) -> Iterator[Line]:
        return (line for block in self.blocks for line in block.lines)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the front matter, then those in the text."""
        return unique([*self.front.tags, *(tag for line in self.lines for tag in line.tags)])

    @property
    def links(self) -> Iterator[RawLink]:
        return chain(self.front.links, (link for line in self.lines for link in line.links))

    @property
    def aliases(self) -> tuple[str, ...]:
        """The aliases of the front matter, then the name of the file, which people search and link by."""
        stem = self.file.stem
        number = _ZETTEL.match(stem)
        own = () if stem.casefold() in _GENERIC else (stem, number[0] if number else stem)
        return unique([alias for alias in (*self.front.aliases, *own) if alias != self.title])

    @property
    def is_template(self) -> bool:
        """Whether it is no note, but what a program makes notes from."""
        first = next((block for block in self.blocks if block.level), None)
        named_by_one = first is not None and is_placeholder(first.heading)
        return self.front.is_template or (named_by_one and is_of_placeholders(self.text))

    def named(self) -> Named:
        """The names of the note, its headings by their text and by their anchor, where the first counts.

        As on GitHub, the anchor of a later heading with the same words ends in its number: ``c``, ``c-1``.
        """
        headings = [(heading, section.slug) for section in self.sections for heading in section.headings]
        parts: dict[str, str] = {}
        for heading, slug in headings:
            parts.setdefault(normalized_name(heading), slug)
        for heading, slug in headings:
            parts.setdefault(folded_name(heading), slug)
        count = Counter[str]()
        for heading, slug in headings:
            anchor = slugify(heading)
            parts.setdefault(f"{anchor}-{count[anchor]}" if count[anchor] else anchor, slug)
            count[anchor] += 1
        return Named(self.file.relative, self.file.key, self.title, self.aliases, parts)


def read_note(file: NoteFile, split_at: int, rules: Rules = ANY) -> Note:
    """Reads and parses one note. Raises ValueError if it cannot be used."""
    data, changed_at = _read(file.path, file.root)
    decoded = decode(data)
    text = decoded.text
    if not text.strip():
        raise ValueError("the file is empty")
    item = item_in(text, file.stem)
    front, body = read_item(item, rules) if item else read_front_matter(text, rules)
    name = _NOTION.sub("", file.stem)
    if name != file.stem:
        front = with_properties(front, body, rules)
    shown_path = printable_path(file.path)
    notices = [Skipped(what, 1, (f"{shown_path}: line {line}",)) for what, line in front.notices]
    notices += [Skipped(what, count, (shown_path,)) for what, count in decoded.notices]
    day = day_in_name(file.stem)
    if day is not None and fits("occurred_at", day, rules):
        changed_at = day
    if changed_at is not None and not fits("occurred_at", changed_at, rules):
        changed_at = None
        notices += [] if front.occurred_at else [Skipped(FUTURE_FILES, 1, (shown_path,))]
    if "excalidraw-plugin" in front.metadata and (drawing := _DRAWING.search(body)):
        body = body[: drawing.start()]
        notices.append(Skipped(DRAWINGS, 1, (shown_path,)))
    blocks = tuple(read_blocks(body, label_first=front.label_first))
    titles = (front.title, _heading(blocks, file.stem))
    title = next((one for one in titles if one and not is_placeholder(one)), file_words(name))
    shown = "\n".join(line.text for block in blocks for line in block.lines).strip("\n").rstrip()
    if not shown and front == FrontMatter():
        raise ValueError("the file contains no text")
    sections = tuple(split_sections(blocks, title, split_at)) if len(shown) > split_at else ()
    return Note(file, front, title, shown or title, blocks, sections, changed_at, tuple(notices))


def _read(path: Path, root: Path | None) -> tuple[bytes, datetime | None]:
    try:
        with open_within(path, root) as file:
            data = file.read(MAX_BYTES + 1)
            changed = os.fstat(file.fileno()).st_mtime
    except OSError as error:
        raise ValueError(f"the file cannot be read: {failure_reason(error)}") from error
    if len(data) > MAX_BYTES:
        raise ValueError(f"the file is larger than {MAX_BYTES // 1_000_000} MB")
    try:
        # Zero is the time of a file without one: see write_undated.
        return data, datetime.fromtimestamp(changed, UTC) if changed else None
    except (ValueError, OverflowError, OSError):
        return data, None


def _heading(blocks: tuple[Block, ...], stem: str) -> str:
    """The heading that names a note: its first line, as in Obsidian the name of the file is its title.

    A later heading is one of many, often ``# References``. But a file called README says nothing of its own.
    """
    named = (block for block in blocks if block.level == 1) if stem.casefold() in _GENERIC else blocks
    first = next((block for block in named if any(line.text.strip() for line in block.lines)), None)
    return first.heading if first is not None and first.level == 1 else ""


SUFFIXES = (".md", ".markdown")

OLD_COPIES = "folders of old copies of notes, which Logseq keeps, passed over"
_COPIES_OF_LOGSEQ = ("logseq", "bak")


@dataclass(frozen=True, slots=True)
class NoteFile:
    """The file of a note. ``relative`` is its path in the folder: NFC, forward slashes, no suffix.

    It must be in ``root``, if there is one, when it is read.
    """

    path: Path
    relative: str
    key: str
    root: Path | None = None

    @property
    def stem(self) -> str:
        """The name of the file without its suffix, or of the bundle that Bear exports a note in."""
        path = PurePosixPath(self.relative)
        return path.parent.stem if path.parent.suffix == ".textbundle" else path.name


def walk(folder: Path, *, follow_links: bool = False) -> Iterator[Path | Problem | Skipped]:
    """The Markdown files below ``folder``, sorted by name within each folder; other files are counted.

    Skips hidden files and folders. Enters each linked folder once, so that loops end. A symbolic link that
    leads out of ``folder`` is a Problem, unless ``follow_links``.
    """
    return _walk(folder, None if follow_links else folder.resolve(), set())


def _walk(
    folder: Path, root: Path | None, entered: set[tuple[int, int]]
) -> Iterator[Path | Problem | Skipped]:
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
        yield Problem(printable_path(folder), f"The folder cannot be read: {failure_reason(error)}.")
        return
    for entry in entries:
        path = folder / entry.name
        is_folder = _is_folder(entry)
        if not is_folder and not (is_note(path) and (_is_file(entry) or entry.is_symlink())):
            yield Skipped(what_is(path), 1, (printable_path(path),))
            continue
        if is_folder and (folder.name, entry.name) == _COPIES_OF_LOGSEQ:
            yield Skipped(OLD_COPIES, 1, (printable_path(path),))
        elif entry.is_symlink() and root is not None and leads_out(path, root):
            yield link_problem(path)
        elif is_folder:
            yield from _walk(path, root, entered)
        else:
            yield path


def is_note(path: Path) -> bool:
    """Whether the name has a Markdown suffix."""
    return path.suffix.lower() in SUFFIXES


def what_is(path: Path) -> str:
    """What a file is called that is no note."""
    return OTHER_TEXTS if path.suffix.lower() in TEXT_SUFFIXES else OTHER_FILES


def note_file(path: Path, folder: Path, prefix: str, root: Path | None = None) -> NoteFile:
    """The file with its key: prefix and path without suffix.

    ``#`` becomes ``-``, because it separates note and section in a key. Raises ValueError for a name that is
    not UTF-8.
    """
    relative = path.relative_to(folder).with_suffix("").as_posix()
    try:
        relative.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError("the file's name is not UTF-8; rename it") from error
    relative = composed(relative)
    return NoteFile(path, relative, prefix + relative.replace("#", "-"), root)


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
