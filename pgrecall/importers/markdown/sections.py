"""Splits a note into sections at its headings, merges short ones, and cuts long ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile

from pgrecall.importers.markdown.blocks import Block
from pgrecall.importers.markdown.inline import Line, RawLink
from pgrecall.importers.text import Slugs, slugify

MIN_SECTION_LENGTH = 60
"""A section of fewer characters is merged with another."""


@dataclass(slots=True)
class Section:
    """The text below one heading, up to the next, and the sections that were merged into it.

    ``trail`` has the headings above it and its own; ``slug`` is unique within the note. The first section of
    a note has neither. ``opening`` has the lines of its heading, and of the headings above it without text of
    their own; they are shown only if the section is merged into another. ``headings`` has the text of all
    headings that link here. ``size`` counts the characters of its body without blanks around lines,
    ``length`` with line breaks.
    """

    trail: tuple[str, ...] = ()
    slug: str = ""
    opening: list[Block] = field(default_factory=list)
    body: list[Block] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    size: int = field(init=False)
    length: int = field(init=False)

    def __post_init__(self) -> None:
        self._measure()

    def _measure(self) -> None:
        self.size = _size(self.body)
        self.length = _length(self.body)

    @property
    def is_short(self) -> bool:
        """Whether it should be merged."""
        return self.size < MIN_SECTION_LENGTH

    @property
    def blocks(self) -> list[Block]:
        """The blocks to store: the body with the links of its heading, whose text is in the title."""
        links = tuple(link for block in self.opening for line in block.lines for link in line.links)
        return [Block([Line("" if self.size or not self.trail else self.trail[-1], links)]), *self.body]

    def append(self, short: Section) -> None:
        """Appends another section."""
        self.body += (*short.opening, *short.body)
        self.size += _size(short.opening) + short.size
        self.length += _length(short.opening) + short.length
        self.headings += short.headings

    def prepend(self, short: Section) -> None:
        """Puts another section before this one; the heading of this one stays between the two."""
        inside = self.trail[: len(short.trail)] == short.trail
        self.body[:0] = (*(() if inside else short.opening), *short.body, *self.opening)
        self.opening = short.opening if inside else []
        self._measure()
        self.headings[:0] = short.headings


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a section that fits the limit."""

    text: str
    links: tuple[RawLink, ...]


@dataclass(slots=True)
class _Node:
    """A heading with the sections below it; ``kept`` if it has its own section."""

    level: int
    section: Section
    kept: bool
    children: list[_Node] = field(default_factory=list)


def split_sections(blocks: Sequence[Block], title: str, limit: int) -> list[Section]:
    """The note's own section, then one for each heading, in order.

    A heading of level 1 with nothing above it is the title of the note: the text below it is the note's own,
    and the heading is dropped if it equals ``title``. A heading without text but with deeper headings yields
    no section. A section shorter than ``MIN_SECTION_LENGTH`` is merged if both fit into ``limit``:
    an introduction into the first section below it, any other into the section before it, or else after it.
    """
    own, *groups = _grouped(blocks)
    if not _has_text(own) and groups and groups[0][0].level == 1:
        own, *groups = groups
        if own[0].heading == title:
            own = [Block([Line("", line.links) for line in own[0].lines]), *own[1:]]
    slugs = Slugs()
    root = _Node(0, Section(body=own), kept=True)
    _grow(root, groups, slugs)
    return _merge_short(root, limit, slugs)


def _grouped(blocks: Sequence[Block]) -> list[list[Block]]:
    groups: list[list[Block]] = [[]]
    for block in blocks:
        if block.level:
            groups.append([])
        groups[-1].append(block)
    return groups


def _has_text(blocks: Sequence[Block]) -> bool:
    return any(line.text.strip() for block in blocks for line in block.lines)


def _size(blocks: Sequence[Block]) -> int:
    return sum(len(line.text.strip()) for block in blocks for line in block.lines)


def _length(blocks: Sequence[Block]) -> int:
    return sum(map(_lines_length, (block.lines for block in blocks)))


def _lines_length(lines: Sequence[Line]) -> int:
    return sum(len(line.text) + 1 for line in lines)


def _grow(root: _Node, groups: Sequence[list[Block]], slugs: Slugs) -> None:
    """Adds a node for each heading below its parent heading."""
    above = [root]
    for number, (head, *below) in enumerate(groups):
        while above[-1].level >= head.level:
            above.pop()
        deeper = number + 1 < len(groups) and groups[number + 1][0].level > head.level
        kept = _has_text(below) or not deeper or any(line.links for line in head.lines)
        trail = (*above[-1].section.trail, head.heading)
        slug = slugs.take(slugify(head.heading)) if kept else ""
        node = _Node(head.level, Section(trail, slug, [head], below, [head.heading]), kept)
        above[-1].children.append(node)
        above.append(node)


def _merge_short(node: _Node, limit: int, slugs: Slugs) -> list[Section]:
    """The sections of a node and of those below it, short ones merged."""
    own = node.section if node.kept else None
    found = [own] if own else []
    depth = len(node.section.trail) + 1
    joins = True  # whether the last section is the node's own, or that of a child without children
    for child in node.children:
        below = _merge_short(child, limit, slugs)
        last = found[-1] if found else None
        fits = last is not None and last.length + _length(below[0].opening) + below[0].length <= limit
        if last and fits and joins and len(below) == 1 and below[0].is_short:
            if own is None and last.is_short:
                last = found[-1] = _parent_of(last, node, slugs)
            last.append(below[0])
            continue
        if last and fits and last.is_short and last.trail:
            below[0].prepend(found.pop())
        found += below
        joins = len(below) == 1 and len(below[0].trail) == depth
    if own and len(found) > 2 and found[-1].is_short and own.length + found[-1].length <= limit:
        own.append(found.pop())
    if own is None:
        found[0].opening[:0] = node.section.opening
        found[0].headings[:0] = node.section.headings
    return found


def _parent_of(section: Section, node: _Node, slugs: Slugs) -> Section:
    """The section of a heading that has no text, with a short section below it as its text."""
    parent = Section(node.section.trail, slugs.take(slugify(node.section.trail[-1])))
    parent.append(section)
    return parent


def outline(blocks: Sequence[Block], limit: int) -> str:
    """The headings as an indented list of at most ``limit`` characters."""
    rows: list[str] = []
    size = 0
    for block in blocks:
        if block.level:
            row = f"{'  ' * (block.level - 1)}- {block.heading}"
            size += len(row) + 1
            if rows and size > limit:
                break
            rows.append(row)
    return "\n".join(rows)


def cut(blocks: Sequence[Block], limit: int) -> Iterator[Piece]:
    """The blocks in pieces of at most ``limit`` characters.

    Only a block that is longer than ``limit`` is cut: a list or quote between its items and paragraphs, any
    other block between its lines, a longer line between sentences or words. Only blanks at the cuts are lost.
    """
    current: list[Line] = []
    size, filled = 0, False
    for chunk in _chunks(blocks, limit):
        added = _lines_length(chunk)
        if size + added > limit and filled:
            yield _piece(current)
            current, size, filled = [], 0, False
        current += chunk
        size += added
        filled = filled or any(line.text.strip() for line in chunk)
    if filled:
        yield _piece(current)


def _piece(lines: list[Line]) -> Piece:
    texts = dropwhile(lambda text: not text.strip(), (line.text for line in lines))
    return Piece("\n".join(texts).rstrip(), tuple(link for line in lines for link in line.links))


def _chunks(blocks: Sequence[Block], limit: int) -> Iterator[Sequence[Line]]:
    for block in blocks:
        if _lines_length(block.lines) <= limit + 1:
            yield block.lines
        elif block.children:
            yield from _chunks(block.children, limit)
        else:
            for line in block.lines:
                yield from ([part] for part in _cut_line(line, limit))


def _cut_line(line: Line, limit: int) -> Iterator[Line]:
    text, start, links = line.text, 0, line.links
    while len(text) - start > limit:
        end = start + limit
        at = text.rfind(". ", start, end) + 1 or text.rfind(" ", start, end)
        at = at if at > start else end
        yield replace(line, text=text[start:at].strip(), links=links)
        start, links = at, ()
    yield replace(line, text=text[start:].strip() if start else text, links=links)
