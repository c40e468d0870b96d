"""Results on terminals of any width: nothing is wider than the terminal, nothing is lost."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.text import Text

from pgrecall.faces.cli.commands.search import show_hits
from pgrecall.faces.cli.rendering.console import SafeConsole, styled, table, vitality_bar
from pgrecall.faces.cli.rendering.imports import write_problems
from pgrecall.nouns.imports.report import ImportReport, Problem
from pgrecall.nouns.search.models import Hit, SearchResult

HIT = Hit(
    id=7,
    key="notes/a-rather-long-key-that-needs-a-second-line#and-a-heading",
    layer="knowledge",
    title="A [bold]title[/bold]",
    body="The gauges are calibrated twice a year, " * 20,
    role=None,
    author=None,
    tags=(),
    happened_at=datetime(2026, 6, 1, tzinfo=UTC),
    score=0.876,
    relevance=0.5,
    vitality=0.61,
    zone="active",
    rank=1,
    explanation={"arms": {"lexical": {"rank": 1, "words": {"gaug": 2.0}}}, "score": {"mode": "off"}},
)

TABLE = """\
  #  score  relevance  vitality       layer      memory
  1   0.88       0.50  ████▉··· 0.61  knowledge  A [bold]title[/bold]
                       active                    notes/a-rather-long-key-that-ne
                                                 eds-a-second-line#and-a-heading
                                                 The gauges are calibrated twice
                                                 a year, The gauges are
                                                 calibrated twice a year, The …
    Found by the word “gauges” (rank 1). Vitality does not count in this search.
    words: strength 0; coverage 0; rank 1; gaug 2
    score: log-odds 0 = 0 relevance + 0 vitality (mode off); score = 0.500

"""

BLOCK = """\
1. A [bold]title[/bold]
   score 0.88, relevance 0.50, knowledge
   ████▉··· 0.61 active
   notes/a-rather-long-key-that-needs-a-
   second-line#and-a-heading
   The gauges are calibrated twice a
   year, The gauges are calibrated twice
   a year, …

"""


@pytest.fixture(autouse=True)
def _plain_output(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def shown(*hits: Hit, width: int, explain: bool = False, names: tuple[str, ...] = ()) -> str:
    stream = io.StringIO()
    result = SearchResult(hits, names=names)
    show_hits(SafeConsole(stream, width=width), "gauges", result, {} if explain else None)
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())


def test_a_wide_terminal_has_a_table() -> None:
    assert shown(HIT, width=80, explain=True) == TABLE


def test_a_narrow_terminal_has_a_block_for_each() -> None:
    assert shown(HIT, width=40) == BLOCK


def test_headings_stand_above_the_first_alone() -> None:
    told = shown(HIT, replace(HIT, rank=2), width=100)
    assert (told.count("relevance"), told.count("A [bold]title[/bold]")) == (1, 2)


@pytest.mark.parametrize("width", [20, 40, 71, 72, 80, 200])
@pytest.mark.parametrize("explain", [False, True])
def test_hits_fit_the_terminal(width: int, explain: bool) -> None:
    told = shown(HIT, width=width, explain=explain, names=("Ann",))
    assert all(len(line) <= width for line in told.splitlines())
    flat = "".join(told.split())
    for part in (
        "0.88",
        "0.50",
        "0.61",
        "active",
        "knowledge",
        "A[bold]title[/bold]",
        "and-a-heading",
        "gauges",
    ):
        assert part in flat
    assert ("Foundbytheword“gauges”" in flat) is explain


@pytest.mark.parametrize("width", [20, 40, 72, 80, 200])
@pytest.mark.parametrize(
    "title",
    [
        "港の開港は五月です。とても長い題名なので折り返しが必要になります",
        "😀" * 40,
        "e\u0301" * 60,
        "👩‍👩‍👧‍👦 ❤️ " * 20,
    ],
)
def test_wide_and_joined_characters_fit(width: int, title: str) -> None:
    told = shown(replace(HIT, title=title, body=title), width=width)
    assert max(cell_len(line) for line in told.splitlines()) <= width
    names = [line[49:].strip() if width >= 72 else line for line in told.splitlines()]
    assert "".join(title.split()) in "".join("".join(names).split())


def test_what_is_longer_than_its_column_is_whole() -> None:
    told = shown(replace(HIT, rank=1000, layer="observations-of-weather"), width=100)
    layers = "".join(line[39:48] for line in told.splitlines()[1:]).replace(" ", "")
    assert (told.splitlines()[1].split()[0], layers) == ("1000", "observations-of-weather")


def test_what_is_found_stands_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    told = shown(replace(HIT, zone="fading"), width=100, explain=True)
    for part in (
        "\x1b[1mrelevance\x1b[0m",
        "\x1b[1mA [bold]title[/bold]\x1b[0m",
        "The \x1b[1mgauges\x1b[0m are",
        "\x1b[38;5;208mfading\x1b[0m",
        "\x1b[38;5;208m████▉···\x1b[0m 0.61",
        "\x1b[3mFound by the word",
        "\x1b[2mscore: log-odds 0",
    ):
        assert part in told


@pytest.mark.parametrize("width", [40, 100])
def test_nothing_stored_reaches_the_terminal_as_a_command(width: int) -> None:
    evil = "a\x1b[31mred\x07\x9b2J\u202e\r"
    told = shown(replace(HIT, title=evil, key=evil, layer=evil, body=evil), width=width, explain=True)
    assert told.replace("\n", "").isprintable()


@pytest.mark.parametrize("vitality", [-1.0, 0.0, 0.005, 0.5, 0.999, 1.0, 7.0])
@pytest.mark.parametrize("unicode", [True, False])
def test_bars_have_one_width(vitality: float, unicode: bool) -> None:
    bar = vitality_bar(vitality, "active", unicode=unicode).plain
    assert len(bar.rsplit(" ", 1)[0]) == 8
    assert unicode or bar.isascii()


@pytest.mark.parametrize(
    "printed", ["a\x1b[31mred\x07\x9b2J\u202e\r", styled(("\x1b[2Jhere\a", "bold"), "\x9b2J")]
)
def test_what_is_printed_cannot_command_the_terminal(printed: str | Text) -> None:
    stream = io.StringIO()
    rows = table("na\x1bme", styled("\x9bmany"))
    rows.add_row(printed, printed)
    for item in (printed, rows):
        SafeConsole(stream, width=40).print(item)
    assert stream.getvalue().replace("\n", "").isprintable()


def test_sentences_are_left_to_the_terminal_and_bodies_wrapped() -> None:
    stream = io.StringIO()
    console = SafeConsole(stream, width=12)
    console.print("one two three four")
    console.print("one two three four", soft_wrap=False)
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == [
        "one two three four",
        "one two",
        "three four",
    ]


def test_a_file_of_problems_has_one_line_for_each_and_no_control_characters(tmp_path: Path) -> None:
    odd = Problem("vault/a\x1b[2J\r\n\u202eb\u2028.md", "The file is empty.")
    write_problems(tmp_path / "problems", ImportReport(problems=(odd, odd)))
    [first, second] = (tmp_path / "problems").read_text().splitlines()
    assert first == second
    assert first.isprintable()
