"""Text laid out in cells: how wide it is on a terminal, and where it is broken to fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pgrecall.faces.cli.rendering.snippets import printable

Piece = tuple[str, str]
"""Text and its style, in words that rich knows too: ``bold cyan``."""
Line = Sequence[Piece]

_WORD = re.compile(r"\S+")
_WIDENING = "\ufe0f"
"""Makes the sign before it a picture, which may be wider."""
_PLAIN = re.compile(r"[ -~\u00ae-\u02ff\u0370-\u0482\u2010-\u2027\u2500-\u259f]*")
"""Letters, signs and blocks of one cell each, as most text is: for any other rich has tables."""


def cells(text: str) -> int:
    """How many cells of a terminal the text takes."""
    if _PLAIN.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cells_of(line: Line) -> int:
    """How many cells the pieces take, one after the other."""
    return cells(text_of(line))


def text_of(line: Line) -> str:
    """The pieces without their styles."""
    return "".join(text for text, _ in line)


def plainly(parts: Iterable[str | Piece]) -> list[Piece]:
    """Texts and pieces as pieces in which nothing can do harm to a terminal."""
    pieces = ((part, "") if isinstance(part, str) else part for part in parts)
    return [(printable(text), style) for text, style in pieces]


def fold(pieces: Sequence[Piece], room: int) -> list[list[Piece]]:
    """The pieces as lines no wider than the room, broken between words; only longer words are cut."""
    lines, begin = [], 0
    for paragraph in text_of(pieces).split("\n"):
        lines += [_between(pieces, begin + left, begin + right) for left, right in _breaks(paragraph, room)]
        begin += len(paragraph) + 1
    return lines


def _breaks(text: str, room: int) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends."""
    begin = end = 0
    for word in _WORD.finditer(text):
        if cells(text[begin : word.end()]) > room:
            if end > begin:
                yield begin, end
            begin = word.start()
            for part in _parts(word[0], room)[:-1]:
                yield begin, begin + len(part)
                begin += len(part)
        end = word.end()
    yield begin, end


def _parts(word: str, room: int) -> list[str]:
    """The word in parts that fit: one, if it does."""
    if cells(word) <= room:
        return [word]
    if _PLAIN.fullmatch(word):
        return [word[begin : begin + room] for begin in range(0, len(word), room)]
    from rich.cells import chop_cells

    parts = [part for part in chop_cells(word, room) if part]
    sound = "".join(parts) == word and all(cells(part) <= room for part in parts)
    return parts if sound else list(_by_characters(word, room))


def _by_characters(word: str, room: int) -> Iterator[str]:
    """The same for joiners where there is nothing to join: each character as wide as it may ever be."""
    begin = taken = 0
    for place, character in enumerate(word):
        width = 1 if character == _WIDENING else cells(character)
        if taken + width > room and place > begin:
            yield word[begin:place]
            begin, taken = place, 0
        taken += width
    yield word[begin:]


def _between(pieces: Sequence[Piece], begin: int, end: int) -> list[Piece]:
    """What of the pieces stands between two places of their text."""
    found, at = [], 0
    for text, style in pieces:
        if part := text[max(begin - at, 0) : max(end - at, 0)]:
            found.append((part, style))
        at += len(text)
    return found
