"""Splitting loses nothing, respects the limit, and knows what a heading is."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgrecall.importers.markdown.sections import heading_words, pieces, scan, sections_of
from pgrecall.importers.text import Slugs, slugify

WORDS = st.text(alphabet="abcdefg", min_size=1, max_size=12)
PROSE = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)
LINES = st.one_of(
    PROSE,
    PROSE.map(lambda words: f"## {words}"),
    PROSE.map(lambda words: f"# {words}"),
    PROSE.map(lambda words: f"    - {words}. {words}"),
    st.sampled_from(["", "", "  ", "```", "~~~ py", "````", "---", "#", "## ##", "-->", "<!--x"]),
)


@example(rows=["```", "  ", "a"], limit=2)
@given(rows=st.lists(LINES, max_size=40), limit=st.integers(1, 200))
def test_every_line_of_prose_is_in_one_piece_and_every_heading_in_a_trail(
    rows: list[str], limit: int
) -> None:
    text = "\n".join(rows)
    lines = scan(text)
    own, *others = sections_of(lines, "no such title")
    below = [*own.lines, *(line for section in others for line in section.lines[1:])]
    assert [line for line in below if line.text and not line.level] == [
        line for line in lines if line.text and not line.level
    ]
    headed = {heading_words(line) for line in own.lines} | {
        name for section in others for name in section.trail
    }
    assert headed >= {heading_words(line) for line in lines if line.level}
    for section in (own, *others):
        found = list(pieces(section.lines, limit))
        assert all(0 < len(piece.text) <= limit for piece in found)
        assert _letters(piece.text for piece in found) == _letters(line.text for line in section.lines)
    assert _letters(line.text for line in lines) == _letters(text) or "<!--" in text


def _letters(texts: Iterable[str]) -> str:
    return "".join(character for text in texts for character in text if character.isalpha())


@given(rows=st.lists(LINES, max_size=40))
def test_slugs_are_unique(rows: list[str]) -> None:
    slugs = [section.slug for section in sections_of(scan("\n".join(rows)), "t")]
    assert len(set(slugs)) == len(slugs)


@given(st.lists(st.sampled_from(["a", "a-2", "a-2-2", "b"]), max_size=30))
def test_slugs_never_repeat(texts: list[str]) -> None:
    slugs = Slugs()
    taken = [slugs.take(text) for text in texts]
    assert len(set(taken)) == len(taken)


@given(st.text())
def test_a_slug_is_its_own_slug(text: str) -> None:
    assert slugify(slugify(text)) == slugify(text)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("# Title", "Title"),
        ("   ### **Bold** and `code` ###", "Bold and code"),
        ("## C#", "C#"),
        ("##\tTab", "Tab"),
        ("# [[Note|shown]] words", "shown words"),
        ("## snake_case_name", "snake_case_name"),
        ("# ***", "***"),
    ],
)
def test_headings(row: str, words: str) -> None:
    (line,) = scan(row)
    assert line.level > 0
    assert heading_words(line) == words


@pytest.mark.parametrize(
    "row", ["#tag", "#", "## ##", "    # code", "####### seven", "# " + "x" * 201, "a # b"]
)
def test_not_headings(row: str) -> None:
    (line,) = scan(row)
    assert line.level == 0
    assert line.text.strip() == row.strip()


def test_fences_close_only_with_their_own_marks() -> None:
    lines = scan("````\n```\n# in\n~~~\n`````\n# out\n``` a`b\n# also out\n~~~\n# never closed")
    assert [line.level for line in lines] == [0, 0, 0, 0, 0, 1, 0, 1, 0, 0]
    assert [line.fence for line in lines] == [1, 1, 1, 1, 1, 0, 0, 0, 2, 2]


def test_a_long_row_of_blanks_is_looked_at_once() -> None:
    """Counted in calls, which are the same on every machine: four times the blanks, four times the work."""

    def calls(blanks: int) -> int:
        count = 0

        def counted(*_: object) -> None:
            nonlocal count
            count += 1

        lines = scan("a" + " " * blanks + "b")
        sys.setprofile(counted)
        try:
            assert [piece.text for piece in pieces(lines, 10)] == ["a", "b"]
        finally:
            sys.setprofile(None)
        return count

    assert calls(8000) < 5 * calls(2000)
