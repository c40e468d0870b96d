"""Blocks of a note, what is hidden, which sections are merged, and where a long one is cut."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgrecall.importers.markdown import blocks as blocks_module
from pgrecall.importers.markdown.blocks import Block, read_blocks
from pgrecall.importers.markdown.inline import Line, RawLink
from pgrecall.importers.markdown.sections import Section, cut, outline, split_sections
from pgrecall.importers.text import Slugs, slugify

WORDS = st.text(alphabet="abcdefg", min_size=1, max_size=12)
PROSE = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)
LINES = st.one_of(
    PROSE,
    PROSE.map(lambda words: f"## {words}"),
    PROSE.map(lambda words: f"# {words}"),
    PROSE.map(lambda words: f"    - {words}. {words}"),
    PROSE.map(lambda words: f"> {words}"),
    st.sampled_from(
        ["", "", "  ", "```", "~~~ py", "````", "---", "===", "#", "## ##", "-->", "<!--x", "%%", "$$", "- ",
         "[^a]: b", "[a]: b", "| a |", "|---|"]
    ),
)  # fmt: skip


def lines_of(blocks: Iterable[Block]) -> list[Line]:
    return [line for block in blocks for line in block.lines]


def texts(text: str) -> list[str]:
    return [line.text for line in lines_of(read_blocks(text))]


def tags(text: str) -> list[str]:
    return [tag for line in lines_of(read_blocks(text)) for tag in line.tags]


def links(text: str) -> list[RawLink]:
    return [link for line in lines_of(read_blocks(text)) for link in line.links]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.heading) for block in read_blocks(text) if block.level]


def bodies(sections: Iterable[Section], limit: int = 1500) -> dict[str, str]:
    """The text of each section by its path."""
    return {
        " > ".join(section.trail): "\n".join(piece.text for piece in cut(section.blocks, limit))
        for section in sections
    }


@example(rows=["```", "  ", "a"], limit=2)
@given(rows=st.lists(LINES, min_size=1, max_size=40), limit=st.integers(1, 200))
def test_nothing_is_lost_but_comments_and_headings_that_are_in_titles(rows: list[str], limit: int) -> None:
    text = "\n".join(rows)
    found = read_blocks(text)
    assert len(lines_of(found)) == len(rows)
    if "<!--" not in text and "%%" not in text:
        assert [line.text.strip() for line in lines_of(found)] == [row.strip() for row in rows]

    sections = split_sections(found, "no such title", limit)
    said = {word for section in sections for name in section.trail for word in _words([name])}
    for section in sections:
        pieces = list(cut(section.blocks, limit))
        assert all(0 < len(piece.text) <= limit for piece in pieces)
        said |= set(_words(piece.text for piece in pieces))
    if limit > 20:
        assert said >= set(_words(line.text for line in lines_of(found)))


def _words(found: Iterable[str]) -> Iterator[str]:
    for text in found:
        yield from ("".join(letter if letter.isalpha() else " " for letter in text)).split()


@given(rows=st.lists(LINES, max_size=40), limit=st.integers(1, 200))
def test_slugs_are_unique(rows: list[str], limit: int) -> None:
    slugs = [section.slug for section in split_sections(read_blocks("\n".join(rows)), "t", limit)]
    assert len(set(slugs)) == len(slugs)
    assert slugs[0] == ""


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
        ("# ***a***", "a"),
        ("# Plan %%draft%%", "Plan"),
        ("Title\n===", "Title"),
        ("Two lines\nof title\n---", "Two lines of title"),
    ],
)
def test_headings(row: str, words: str) -> None:
    [(level, heading)] = headings(row)
    assert level > 0
    assert heading == words


@pytest.mark.parametrize(
    "row",
    ["#tag", "#", "## ##", "    # code", "####### seven", "# " + "x" * 201, "a # b", "> # quoted",
     "- # in a list", "> quoted\n> ===", "a\n\n---"],
)  # fmt: skip
def test_not_headings(row: str) -> None:
    assert headings(row) == []
    assert texts(row) == row.split("\n")


@pytest.mark.parametrize(
    "code",
    [
        "````\n```\n{}\n~~~\n`````",
        "~~~ py\n{}\n\n{}\n~~~",
        "```\n{}\nnever closed",
        "    {}\n    indented",
        "> ```\n> {}\n> ```",
        "- item\n\n  ```\n  {}\n  ```",
        "`{}`",
        "``two {}\nlines``",
        "> `quoted\n> {}`",
        "<pre>\n{}\n</pre>",
        "<script>{}</script>",
        "$$\n{}\n$$",
        "so $${}$$ is",
        "so $x {}$ is",
        "[a]: b '{}'",
    ],
)
def test_code_and_math_stay_as_they_are(code: str) -> None:
    text = code.format("x [[a]] #b ![c](d.png) %%e%% <!--f-->", "# g")
    assert texts(text) == text.split("\n")
    assert (links(text), tags(text), headings(text)) == ([], [], [])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a %%x [[b]] #c%% d", "a  d"),
        ("a <!-- x [[b]] #c --> d", "a  d"),
        ("%%\nx [[b]]\n\n# c\n```\n%%\nd", "\n\n\n\n\n\nd"),
        ("<!--\nx #c\n\n```\n--> d", "\n\n\n\n d"),
        ("a %% x\n\n# c\n\n%% d", "a \n\n\n\n d"),
        ("a %% x\ny %% d", "a \n d"),
        ("- a %%\n  x\n\n  y\n  %%\n- d", "- a \n\n\n\n\n- d"),
        ("> %%\n> x\n> %%\n> d", "> \n\n\n> d"),
        ("%% x\n%% d %% y\n%% e", "\n d \n e"),
        ("%%x%% `%%` %%y%%", " `%%` "),
        ("%% ` %% a %% ` %%", " a "),
        ("100%% sure", "100%% sure"),
        ("<!-- never closed\n\nb", "<!-- never closed\n\nb"),
        ("%% never closed\n\nb", "%% never closed\n\nb"),
        ("`<!--` a\n\nb -->", "`<!--` a\n\nb -->"),
        (r"\%% a %%b%% c", r"\%% a  c"),
    ],
)
def test_comments_are_hidden_with_all_they_hold(text: str, shown: str) -> None:
    assert [row.strip() for row in texts(text)] == [row.strip() for row in shown.split("\n")]
    assert (links(text), tags(text), headings(text)) == ([], [], [])


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("see [the keys][k]\n\n[k]: keys.md", "keys"),
        ("see [k][]\n\n[K]: <my%20keys.md#Old> 'title'", "my keys#Old"),
        ("see [k]\n\n> [k]: keys.md", "keys"),
        ("| a | b |\n|---|---|\n| [[c\\|d]] | e |", "c"),
        ("> [!note] Title\n> [[a#b|c]]", "a#b"),
        ("- [ ] task [[a]]", "a"),
        ("[^1]: note\n\n    more [[a]]", "a"),
        ("[two\nlines](a.md)", "a"),
        ("<div>[[a]]</div>", "a"),
        ("costs $5 [[a]] or US$6", "a"),
        ("a [[b]]\n===", "b"),
    ],
)
def test_links_are_found_in_every_kind_of_block(text: str, target: str) -> None:
    [link] = links(text)
    assert f"{link.target}#{link.heading}".rstrip("#") == target


@pytest.mark.parametrize(
    "text",
    [r"\[[a]]", "[a]", "[a][b]", "[x](https://a.b/c.md#d)", "<https://a.b/[[c]]>", "[k]\n\n[k]: https://a.b/c.md",
     "[^1] and ^[inline]", "![a][k]\n\n[k]: a.md", "- [x] done"],
)  # fmt: skip
def test_not_links(text: str) -> None:
    assert links(text) == []


def test_tags_are_found_in_text_alone() -> None:
    text = (
        "> [!todo]- Title #a\n> - [ ] #b/c\n\n# No #no\n\nAlso #no\n---\n\n[l #no](x.md) (#no) \\#no "
        "https://a.b/#no <a href='x' #no>\n\n| #d |\n|---|\n| x |\n\n[^1]: #e"
    )
    assert tags(text) == ["a", "b/c", "d", "e"]


def test_an_image_by_reference_is_dropped() -> None:
    assert texts("a ![b][k] c ![k]\n\n[k]: a.png")[0] == "a  c "


def test_fences_close_only_with_their_own_marks() -> None:
    text = "````\n```\n# in\n~~~\n`````\n# out\n``` a`b\n# also out\n~~~\n# never closed"
    assert headings(text) == [(1, "out"), (1, "also out")]


SAY = "Words that fill a section, so that it may stand by itself. " * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (  # into the one before
            f"{SAY}\n## A\n{SAY}\n## B\nshort\n## C\n{SAY}",
            {"": SAY, "A": f"{SAY}\n## B\nshort", "C": SAY},
        ),
        (  # into its parent
            f"{SAY}\n## A\n{SAY}\n### B\nshort",
            {"": SAY, "A": f"{SAY}\n### B\nshort"},
        ),
        (  # an introduction into what it introduces
            f"{SAY}\n## A\nshort\n### B\n{SAY}\n### C\n{SAY}",
            {"": SAY, "A > B": f"short\n### B\n{SAY}", "A > C": SAY},
        ),
        (  # short ones of one parent make its section
            f"{SAY}\n## P\n### A\n{SAY}\n## Q\n### B\none {'b' * 30}\n### C\ntwo {'c' * 30}\n### D\nthree",
            {"": SAY, "P > A": SAY, "Q": f"### B\none {'b' * 30}\n### C\ntwo {'c' * 30}\n### D\nthree"},
        ),
        (  # with the headings above it that have no text
            f"{SAY}\n## A\n{SAY}\n## B\n### C\nshort",
            {"": SAY, "A": f"{SAY}\n## B\n### C\nshort"},
        ),
        (  # else into the one after it
            f"{SAY}\n## A\n### B\n{SAY}\n### C\n{SAY}\n## D\nshort\n## E\n{SAY}",
            {"": SAY, "A > B": SAY, "A > C": SAY, "E": f"## D\nshort\n## E\n{SAY}"},
        ),
        (  # else into its parent, wherever that stands
            f"{SAY}\n## A\n### B\n{SAY}\n### C\n{SAY}\n## D\nshort",
            {"": f"{SAY}\n## D\nshort", "A > B": SAY, "A > C": SAY},
        ),
    ],
)
def test_short_sections_are_merged(text: str, expected: dict[str, str]) -> None:
    found = bodies(split_sections(read_blocks(text.replace(". \n", ".\n")), "t", 1500))
    assert found == {path: body.replace(". \n", ".\n").strip() for path, body in expected.items()}


def test_a_short_section_stays_where_merging_would_pass_the_limit() -> None:
    text = f"{SAY}\n## A\n{SAY}\n## B\nshort"
    assert list(bodies(split_sections(read_blocks(text), "t", len(SAY) + 5))) == ["", "A", "B"]


def test_links_to_a_merged_heading_lead_to_where_its_text_is() -> None:
    text = f"{SAY}\n## P\n### A\n{SAY}\n## B\nshort [[x]]"
    _, a = split_sections(read_blocks(text), "t", 1500)
    assert (a.slug, a.headings) == ("a", ["P", "A"]) or a.headings == ["P", "A", "B"]


def test_an_outline_names_the_headings() -> None:
    assert outline(read_blocks("# A *b*\n### C\n\nD\n---\ntext"), 100) == "- A b\n    - C\n  - D"
    assert outline(read_blocks("# A\n## B"), 4) == "- A"


def test_a_long_list_is_cut_between_items_and_a_quote_between_paragraphs() -> None:
    items = "\n".join(f"- item {number}\n  second line" for number in range(6))
    pieces = [piece.text for piece in cut(read_blocks(items), 60)]
    assert all(piece.startswith("- item") and piece.endswith("second line") for piece in pieces)
    quote = "> one\n> one\n>\n> two\n> two"
    assert [piece.text for piece in cut(read_blocks(quote), 15)] == ["> one\n> one\n>", "> two\n> two"]


def test_a_note_with_too_many_parts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "MAX_TOKENS", 10)
    with pytest.raises(ValueError, match="more than 10 parts"):
        read_blocks("- a\n" * 10)


def test_text_nested_deeper_than_blocks_are_read_is_kept() -> None:
    text = "> " * 100 + "[[a]] #b\n\nc"
    assert texts(text)[0].endswith("> a #b")
    assert (links(text), tags(text), texts(text)[2]) == ([RawLink("a")], ["b"], "c")


def test_a_long_row_of_blanks_is_looked_at_once() -> None:
    """Counted in calls, which are the same on every machine: four times the blanks, four times the work."""

    def calls(blanks: int) -> int:
        count = 0

        def counted(*_: object) -> None:
            nonlocal count
            count += 1

        found = read_blocks("a" + " " * blanks + "b")
        sys.setprofile(counted)
        try:
            assert [piece.text for piece in cut(found, 10)] == ["a", "b"]
        finally:
            sys.setprofile(None)
        return count

    assert calls(8000) < 5 * calls(2000)
