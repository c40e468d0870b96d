"""Parses the text of a note into blocks of lines: headings, code, comments, and where it can be split."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from pgrecall.importers.markdown.inline import COMMENT_ENDS, Line, References, read_inline, scan
from pgrecall.importers.text import without_marks

MAX_TOKENS = 1_000_000
"""At about 400 bytes each, this limits the memory that parsing one note takes."""

_MAX_HEADING_LENGTH = 200
_DEEPEST = 60
_VERBATIM = frozenset({"fence", "code_block", "math", "definition"})
_TEXTS = frozenset({"paragraph_open", "heading_open", "html_block", "tr_open", "comment"})
_RAW_HTML = re.compile(r"\s*<(script|style|pre|textarea)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, paragraph, list or other block, with the blank lines below it.

    ``children`` are the blocks inside a list or quote, between which it can be split. ``heading`` is the text
    of a heading and ``level`` its level from 1 to 6, or 0 for all other blocks.
    """

    lines: Sequence[Line]
    children: Sequence[Block] = ()
    level: int = 0
    heading: str = ""


def read_blocks(text: str, *, label_first: bool = False) -> list[Block]:
    """The blocks of a note in order; together they contain every line.

    With ``label_first``, ``[[words|note]]`` is a link to ``note``, as in Dendron.

    Headings count only outside lists and quotes, with 1 to 200 characters of text. Raises ValueError for a
    text with too many blocks.
    """
    rows = text.split("\n")
    references: dict[str, Any] = {}
    tokens = _parse(text, references)
    lines = _read_lines(rows, tokens, references.get("references", {}), label_first)
    return _build_blocks(_build_tree(tokens), lines, 0, len(rows)) or [Block(lines)]


class _State(StateBlock):
    """The state of markdown-it's block parser, with a limit on its memory."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        if len(self.tokens) >= MAX_TOKENS:
            raise ValueError(f"the note has more than {MAX_TOKENS:,} parts such as list items; split it")
        return super().push(ttype, tag, nesting)


@cache
def _parser() -> MarkdownIt:
    options: Any = {"maxNesting": _DEEPEST, "inline_definitions": True}
    parser = MarkdownIt("commonmark", options).enable("table").use(footnote_plugin)
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote"]}
    parser.block.ruler.before("reference", "comment", _read_comment, ends)
    parser.block.ruler.before("reference", "math", _read_math, ends)
    return parser


def _parse(text: str, environment: dict[str, Any]) -> list[Token]:
    parser = _parser()
    state = _State(text, parser, environment, [])
    parser.block.tokenize(state, 0, state.lineMax)
    return state.tokens


def _read_comment(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A rule of markdown-it for a comment that begins on one line and ends on a later one.

    The token's map covers all lines of the comment, with the text before and after it.
    """
    if state.is_code_block(start_line):
        return False
    line, position = start_line, state.bMarks[start_line] + state.tShift[start_line]
    while (end := _comment_end(state, position, state.eMarks[line])) >= 0:
        ended_on = bisect_left(state.eMarks, end)
        if ended_on >= end_line:
            break
        line, position = ended_on, end
    if line == start_line:
        return False
    if not silent:
        _push(state, "comment", start_line, line + 1)
    return True


def _comment_end(state: StateBlock, position: int, line_end: int) -> int:
    """The end of a comment that begins on this line and ends on a later one; -1 if there is none."""
    row = state.src[position:line_end]
    for start, end, kind in scan(row) if "%%" in row or "<!--" in row else ():
        if kind == "opening":
            ending = COMMENT_ENDS[row[start:end]]
            if (found := _find(state, ending, position + end)) >= 0:
                return found + len(ending)
    return -1


def _read_math(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A rule of markdown-it for math between lines that begin and end with ``$$``."""
    start = state.bMarks[start_line] + state.tShift[start_line]
    if state.is_code_block(start_line) or not state.src.startswith("$$", start):
        return False
    last_line = bisect_left(state.eMarks, _find(state, "$$", start + 2) + 2)
    if not start_line < last_line < end_line:
        return False
    if not silent:
        _push(state, "math", start_line, last_line + 1)
    return True


def _find(state: StateBlock, mark: str, position: int) -> int:
    """The position of the next mark, or -1. Caches the last result, so that all calls together are linear."""
    asked, found = state.env.setdefault("marks", {}).get(mark, (len(state.src) + 1, -1))
    if not (asked <= position and (position <= found or found < 0)):
        found = state.src.find(mark, position)
        state.env["marks"][mark] = (position, found)
    return int(found)


def _push(state: StateBlock, kind: str, start_line: int, end_line: int) -> None:
    token = state.push(kind, "", 0)
    token.map = [start_line, end_line]
    state.line = end_line


def _read_lines(
    rows: Sequence[str], tokens: Sequence[Token], references: References, label_first: bool
) -> list[Line]:
    """One line for each row: code unchanged, other text with its links and tags, headings without tags.

    But a line of tags above ``---``, as Bear exports it, is no heading to the one who wrote it.
    """
    lines: list[Line | None] = [None] * len(rows)
    for token in tokens:
        if token.map is None or token.type not in _VERBATIM | _TEXTS:
            continue
        start, end = token.map
        if token.type in _VERBATIM or _RAW_HTML.match(token.content):
            found = [Line(row) for row in rows[start:end]]
        else:
            found = read_inline("\n".join(rows[start:end]), references, label_first)
        is_line_of_tags = token.markup[:1] in ("-", "=") and rows[start].lstrip()[:1] == "#"
        if token.type == "heading_open" and not is_line_of_tags:
            found = [Line(line.text, line.links) for line in found]
        lines[start:end] = found
    return [
        line or read_inline(row, references, label_first)[0] for line, row in zip(lines, rows, strict=True)
    ]


@dataclass(slots=True)
class _Node:
    """A block with an end that is not known yet."""

    start: int
    level: int = 0
    heading: str = ""
    children: list[_Node] = field(default_factory=list)


def _build_tree(tokens: Sequence[Token]) -> list[_Node]:
    open_nodes: list[list[_Node]] = [[]]
    for token in tokens:
        siblings = open_nodes[-1]
        if token.nesting < 0:
            open_nodes.pop()
        elif token.type == "inline":
            if len(open_nodes) == 2 and open_nodes[0][-1].level:
                _name_heading(open_nodes[0][-1], token.content)
        elif token.map is None:  # the cells of a table
            open_nodes += [siblings] * token.nesting
        else:
            level = int(token.tag[1:]) if token.type == "heading_open" and len(open_nodes) == 1 else 0
            siblings.append(_Node(token.map[0], level))
            open_nodes += [siblings[-1].children] * token.nesting
    return open_nodes[0]


def _name_heading(node: _Node, content: str) -> None:
    words = " ".join(line.text for line in read_inline(content)).strip()
    if 0 < len(words) <= _MAX_HEADING_LENGTH:
        node.heading = without_marks(words)
    else:
        node.level = 0


def _build_blocks(nodes: Sequence[_Node], lines: Sequence[Line], start: int, end: int) -> list[Block]:
    """The blocks of the nodes. Each ends where the next begins; the first begins at ``start``."""
    starts = [start, *(node.start for node in nodes[1:]), end]
    return [
        Block(lines[first:last], _build_blocks(node.children, lines, first, last), node.level, node.heading)
        for node, first, last in zip(nodes, starts, starts[1:], strict=False)
        if first < last
    ]
