"""Text folded to a width: lines fit, nothing is lost, and every character keeps its style."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from pgrecall.faces.cli.folding import Piece, cells, fold, plainly, text_of
from rich.cells import cell_len

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)
MIXED = st.text(st.sampled_from("ab ä…“ \n漢字😀é\u0301\u200d\ufe0f👩❤ｗ"), max_size=60)
PIECES = st.lists(st.tuples(WORDS | MIXED, st.sampled_from(["", "bold", "dim", "bold cyan"])), max_size=6)


@given(PIECES, st.integers(2, 50))
@example([("\u200d\u200d0⼀", "")], 2)
def test_lines_fit_and_nothing_is_lost(pieces: list[Piece], room: int) -> None:
    lines = fold(pieces, room)
    assert all(cells(text_of(line)) <= room for line in lines)
    assert "".join("".join(text_of(line) for line in lines).split()) == "".join(text_of(pieces).split())


@given(PIECES, st.integers(2, 50))
def test_characters_keep_their_style(pieces: list[Piece], room: int) -> None:
    def styles(line: list[Piece]) -> list[Piece]:
        return [(character, style) for text, style in line for character in text if not character.isspace()]

    assert [style for line in fold(pieces, room) for style in styles(line)] == styles(pieces)


@given(st.lists(st.text("abc", min_size=1, max_size=10), min_size=1), st.integers(10, 40))
def test_words_that_fit_stay_whole_and_lines_are_full(words: list[str], room: int) -> None:
    lines = [text_of(line) for line in fold([(" ".join(words), "")], room)]
    assert " ".join(lines).split() == words
    assert all(len(line) + 1 + len(after.split()[0]) > room for line, after in pairwise(lines))


def test_words_too_long_are_cut_and_paragraphs_kept() -> None:
    folded = fold([("  so\nabcdefgh i\n\n漢字漢字", "")], 5)
    assert [text_of(line) for line in folded] == ["  so", "abcde", "fgh i", "", "漢字", "漢字"]


def test_no_room_is_none_for_nothing() -> None:
    assert fold([], 5) == [[]]
    assert [text_of(line) for line in fold([("ab", "")], 1)] == ["a", "b"]


@given(WORDS | MIXED)
def test_cells_are_those_of_rich(text: str) -> None:
    assert cells(text) == cell_len(text)


def test_what_is_counted_without_rich_is_counted_right() -> None:
    wrong = [f"{code:x}" for code in range(0x2600) if cells(chr(code)) != cell_len(chr(code))]
    assert wrong == []


@given(st.lists(st.text(), max_size=3))
def test_nothing_harmful_is_left(texts: list[str]) -> None:
    told = text_of(plainly([*texts, ("\x1b[2J", "bold")]))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", told)
    assert len(told) == sum(map(len, texts)) + 4
