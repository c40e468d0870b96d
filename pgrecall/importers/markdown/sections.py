"""A note's text as lines, sections and pieces: what is code, what is a heading, where it may be cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from pgrecall.importers.markdown.wikilinks import RawLink, mask_code, read_inline
from pgrecall.importers.text import Slugs, slugify, without_marks

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_LONGEST_HEADING = 200


@dataclass(frozen=True, slots=True)
class Line:
    """One line as shown. ``fence`` numbers the code fence it is in, from 1; ``level`` is a heading's."""

    text: str
    links: tuple[RawLink, ...] = ()
    tags: tuple[str, ...] = ()
    fence: int = 0
    level: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """The lines below one heading, up to the next; ``trail`` holds the headings above it and its own.

    ``slug`` is unique within the note. The first section of a note has neither heading nor slug.
    """

    heading: str = ""
    level: int = 0
    trail: tuple[str, ...] = ()
    slug: str = ""
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a section that fits the limit."""

    text: str
    links: tuple[RawLink, ...]


def scan(text: str) -> list[Line]:
    """The lines of a note's text, comments and images dropped, links as words outside code."""
    rows = text.split("\n")
    scanner = _Scanner(max((number for number, row in enumerate(rows) if "-->" in row), default=-1))
    return [scanner.line(number, row) for number, row in enumerate(rows)]


class _Scanner:
    """What the lines above say about the next one: is it in a code fence, is it in a comment."""

    def __init__(self, last_comment_end: int) -> None:
        self._last_comment_end = last_comment_end
        self._fence = ""
        self._fences = 0
        self._in_comment = False

    def line(self, number: int, row: str) -> Line:
        if self._fence:
            fence = self._fence
            stripped = row.strip()
            if stripped.startswith(fence) and set(stripped) == {fence[0]}:
                self._fence = ""
            return Line(row, fence=self._fences)
        if self._in_comment or "<!--" in row:
            row = self._without_comments(number, row)
        if opening := _FENCE.match(row):
            self._fence = opening[1]
            self._fences += 1
            return Line(row, fence=self._fences)
        return _text_line(row)

    def _without_comments(self, number: int, row: str) -> str:
        """A comment that is never closed is text: dropping the rest of a note would lose it unseen."""
        masked = mask_code(row)
        kept, position = "", 0
        while True:
            if self._in_comment:
                end = row.find("-->", position)
                if end < 0:
                    return kept
                position, self._in_comment = end + 3, False
            start = masked.find("<!--", position)
            closed = start >= 0 and (number < self._last_comment_end or row.find("-->", start + 4) >= 0)
            if not closed:
                return kept + row[position:]
            kept += row[position:start]
            position, self._in_comment = start + 4, True


def _text_line(row: str) -> Line:
    heading = _HEADING.match(row)
    if heading is None:
        inline = read_inline(row)
        return Line(inline.text if inline.text.strip() else "", inline.links, inline.tags)
    inline = read_inline(_without_closing(row[heading.end() :].strip()))
    if not inline.text.strip() or len(inline.text) > _LONGEST_HEADING:
        return Line(read_inline(row).text, inline.links)
    return Line(f"{heading[1]} {inline.text.strip()}", inline.links, level=len(heading[1]))


def _without_closing(text: str) -> str:
    """``Keys ##`` is the heading ``Keys``; ``C#`` stays."""
    open_text = text.rstrip("#")
    return open_text.rstrip() if open_text != open_text.rstrip() or not open_text else text


def heading_words(line: Line) -> str:
    """The words of a heading line."""
    return without_marks(line.text.lstrip("#"))


def sections_of(lines: Sequence[Line], title: str) -> list[Section]:
    """The note's own section, then one for each heading, in order.

    A first heading of level 1 with nothing above it is the note's title: the text below it is the
    note's own, and its line is dropped when it says no more than ``title``. A heading without any
    text is kept as a section with its words for text, unless deeper headings follow: they name it.
    """
    groups = _grouped(lines)
    own = groups.pop(0)
    if not _has_text(own) and groups and groups[0][0].level == 1:
        own = groups.pop(0)
        if heading_words(own[0]) == title:
            own = [replace(own[0], text="", level=0), *own[1:]]
    return [Section(lines=tuple(own)), *_named(groups)]


def _grouped(lines: Sequence[Line]) -> list[list[Line]]:
    groups: list[list[Line]] = [[]]
    for line in lines:
        if line.level:
            groups.append([])
        groups[-1].append(line)
    return groups


def _named(groups: list[list[Line]]) -> Iterator[Section]:
    slugs = Slugs()
    trail: list[tuple[int, str]] = []
    for number, (head, *below) in enumerate(groups):
        heading = heading_words(head)
        trail = [above for above in trail if above[0] < head.level] + [(head.level, heading)]
        deeper = number + 1 < len(groups) and groups[number + 1][0].level > head.level
        if not _has_text(below) and deeper and not head.links:
            continue
        # The heading's own links lead from its section; its words are in the title.
        own = replace(head, text="" if _has_text(below) else heading, level=0)
        names = tuple(name for _, name in trail)
        yield Section(heading, head.level, names, slugs.take(slugify(heading)), (own, *below))


def _has_text(lines: Sequence[Line]) -> bool:
    return any(line.text.strip() for line in lines)


def outline(lines: Sequence[Line], limit: int) -> str:
    """The headings as an indented list of at most ``limit`` characters."""
    rows: list[str] = []
    size = 0
    for line in lines:
        if line.level:
            row = f"{'  ' * (line.level - 1)}- {heading_words(line)}"
            size += len(row) + 1
            if rows and size > limit:
                break
            rows.append(row)
    return "\n".join(rows)


def pieces(lines: Sequence[Line], limit: int) -> Iterator[Piece]:
    """The lines in pieces of at most ``limit`` characters, cut between paragraphs and code fences.

    Only a paragraph or fence that is longer itself is cut between its lines, a longer line between
    sentences or words. Nothing but blank lines and blanks at the cuts is lost.
    """
    current: list[Line] = []
    size, told = 0, False
    for chunk in _chunks(lines, limit):
        added = _size(chunk)
        if size + added > limit and told:
            yield _piece(current)
            current, size, told = [], 0, False
        current += chunk
        size += added
        told = told or _has_text(chunk)
    if told:
        yield _piece(current)


def _piece(lines: list[Line]) -> Piece:
    texts = dropwhile(lambda text: not text.strip(), (line.text for line in lines))
    text = "\n".join(texts).rstrip()
    links = tuple(link for line in lines for link in line.links)
    return Piece(text, links)


def _size(lines: Sequence[Line]) -> int:
    return sum(len(line.text) + 1 for line in lines)


def _chunks(lines: Sequence[Line], limit: int) -> Iterator[list[Line]]:
    for block in _blocks(lines):
        if _size(block) <= limit + 1:
            yield block
        else:
            for line in block:
                yield from ([part] for part in _cut(line, limit))


def _blocks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Code fences and paragraphs, each with the blank lines below it."""
    block: list[Line] = []
    for line in lines:
        ended = block and not block[-1].text and line.text and not line.fence
        if block and (ended or line.fence != block[-1].fence) and _has_text(block):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _cut(line: Line, limit: int) -> Iterator[Line]:
    text, start, links = line.text, 0, line.links
    while len(text) - start > limit:
        end = start + limit
        at = text.rfind(". ", start, end) + 1 or text.rfind(" ", start, end)
        at = at if at > start else end
        yield replace(line, text=text[start:at].strip(), links=links)
        start, links = at, ()
    yield replace(line, text=text[start:].strip() if start else text, links=links)
