"""What a terminal is taken for: as wide and as coloured as rich takes it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.terminal import BROKEN_PIPE, Terminal
from rich.console import Console
from rich.style import Style
from rich.text import Text

ASKED = ("TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "LINES")
STYLES = ("bold", "dim", "italic", "green", "bold cyan", "bright_black")


class Screen(io.StringIO):
    """A stream behind which a person sits, or not."""

    def __init__(self, person: bool) -> None:
        super().__init__()
        self.person = person

    def isatty(self) -> bool:
        return self.person


def surrounded(monkeypatch: pytest.MonkeyPatch, **told: str | None) -> None:
    for name in ASKED:
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        if value is not None:
            monkeypatch.setenv(name, value)


def looks(told: str) -> list[tuple[str, Style]]:
    """Every character with how it looks."""
    text = Text.from_ansi(told)
    console = Console(color_system="truecolor", force_terminal=True)
    return [(character, text.get_style_at_offset(console, at)) for at, character in enumerate(text.plain)]


@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("term", [None, "dumb", "unknown", "xterm", "xterm-256color", "xterm-kitty"])
def test_styles_are_shown_where_rich_shows_them(
    monkeypatch: pytest.MonkeyPatch, person: bool, term: str | None
) -> None:
    choices = product((None, "", "1"), (None, "", "1"), (None, "0", "1", "x"), (None, "truecolor"))
    for colourless, forced, compatible, colours in choices:
        surrounded(
            monkeypatch,
            TERM=term,
            NO_COLOR=colourless,
            FORCE_COLOR=forced,
            TTY_COMPATIBLE=compatible,
            COLORTERM=colours,
        )
        console = Console(file=Screen(person), highlight=False)
        terminal = Terminal(Screen(person), soft_wrap=True)
        for style in STYLES:
            console.print(Text("it", style=style))
            terminal.print(("it", style))
        assert looks(written(terminal)) == looks(console.file.getvalue())  # type: ignore[attr-defined]
        terminal.print(("it", "dark_orange"))
        orange = {"256": "38;5;208", "truecolor": "38;5;208", "standard": "91"}.get(
            console.color_system or ""
        )
        coloured = orange is not None and not console.no_color
        assert written(terminal).endswith(f"\x1b[{orange}mit\x1b[0m\n" if coloured else "\nit\n")


@pytest.mark.parametrize("columns", [None, "", "33", "wide"])
@pytest.mark.parametrize("term", ["dumb", "xterm"])
@pytest.mark.parametrize("person", [False, True])
def test_the_width_is_that_of_rich(
    monkeypatch: pytest.MonkeyPatch, columns: str | None, term: str, person: bool
) -> None:
    surrounded(monkeypatch, COLUMNS=columns, TERM=term)
    assert Terminal(Screen(person)).width == Console(file=Screen(person)).width


def test_a_width_of_nothing_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    surrounded(monkeypatch, COLUMNS="0")
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((0, 0)))
    assert Terminal(Screen(True)).width == 80


def test_the_width_is_asked_of_any_stream_that_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def size(stream: int) -> os.terminal_size:
        if stream < 2:
            raise OSError
        return os.terminal_size((57, 20))

    surrounded(monkeypatch, TERM="xterm")
    monkeypatch.setattr(os, "get_terminal_size", size)
    assert Terminal(Screen(False)).width == Console(file=Screen(False)).width == 57


def test_sentences_are_broken_at_words_unless_the_terminal_breaks_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    surrounded(monkeypatch)
    terminal = Terminal(io.StringIO(), width=12)
    terminal.print("  one two three four")
    terminal.print("one two three four", soft_wrap=True)
    terminal.print()
    assert written(terminal) == "  one two\nthree four\none two three four\n\n"
    notes = Terminal(io.StringIO(), width=12, soft_wrap=True)
    notes.print("one two ", ("three\nfour", "bold"))
    assert written(notes) == "one two three\nfour\n"


def test_what_is_printed_cannot_command_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    surrounded(monkeypatch)
    terminal = Terminal(io.StringIO(), width=80)
    terminal.print("\x1b[2Jhere\a")
    terminal.show(cleared())
    assert "here" in written(terminal)
    assert written(terminal).replace("\n", "").isprintable()


def cleared() -> Table:
    table = Table("na\x1bme", "many", right=("many",))
    table.add_row(("a\x1b[2J", "bold"), [("1", ""), ("2\x9b", "dim")])
    return table


def test_a_table_is_laid_out_in_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    surrounded(monkeypatch)
    terminal = Terminal(io.StringIO(), width=14)
    table = Table("name", ("many", "green"), right=("many",))
    table.add_row("harbourside", [("1", ""), ("2", "dim")])
    terminal.show(table)
    assert [line.rstrip() for line in written(terminal).splitlines()] == [
        "name      many",
        "harbours    12",
        "ide",
    ]


def test_fields_have_no_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    surrounded(monkeypatch)
    terminal = Terminal(io.StringIO(), width=20)
    fields = Table("name", "value", headed=False)
    fields.add_row(("happened at", "cyan"), "2026-06-01")
    terminal.show(fields)
    assert [line.rstrip() for line in written(terminal).splitlines()] == [
        "happened at  2026-06",
        "             -01",
    ]


@pytest.mark.parametrize("shown", ["terminal.print('x')", "terminal.out('x')", "terminal.show(table)"])
def test_a_reader_who_goes_away_ends_it_without_a_word(shown: str) -> None:
    told = f"""
import sys
from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.terminal import Terminal
terminal, table = Terminal(sys.stdout), Table("one")
while True:
    {shown}
"""
    with subprocess.Popen(
        [sys.executable, "-c", told], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        running.stdout.close()
        assert running.stderr is not None
        assert running.stderr.read() == ""
    assert running.returncode == BROKEN_PIPE


def test_commands_come_without_rich() -> None:
    faces = Path(__file__).parents[3] / "pgrecall" / "faces"
    commands = [f"pgrecall.faces.{file.stem}" for file in sorted(faces.glob("cli*.py"))]
    assert rich_after(f"import {', '.join(commands)}") == []


def test_a_search_is_shown_without_rich() -> None:
    shown = """
import io
from tests.unit.faces.test_faces_render import HIT
import pgrecall.faces.cli.main, pgrecall.faces.cli.search
from pgrecall.faces.cli.rendering.search import show_hits
from pgrecall.faces.cli.terminal import Terminal
from pgrecall.models import SearchResult
for name in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
    del sys.modules[name]  # the test of rendering has it for itself
for width in (40, 100):
    stream = io.StringIO()
    show_hits(Terminal(stream, width=width), SearchResult((HIT,), names=("Ann",)), explain=True)
    assert "gauges" in stream.getvalue()
"""
    assert rich_after(shown) == []


def rich_after(done: str) -> list[str]:
    """Which modules of rich are there once this was done."""
    told = f"import sys\n{done}\nprint(*(name for name in sys.modules if name.partition('.')[0] == 'rich'))"
    ended = subprocess.run(
        [sys.executable, "-c", told],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    return ended.stdout.split()


def written(terminal: Terminal) -> str:
    """All that was printed to it."""
    stream = terminal._stream
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()
