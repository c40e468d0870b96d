"""What a command says of how far it has come, where nobody looks at a terminal."""

from __future__ import annotations

import pytest

from pgrecall.faces.cli.rendering.console import Progress, pace_words
from tests.acceptance.cli.command_tools import PROGRESS


@pytest.mark.parametrize(
    ("done", "total", "seconds", "said"),
    [
        (0, 10, 5.0, ""),
        (1200, 5000, 10.0, ", 120 a second, 32 s left"),
        (1200, None, 10.0, ", 120 a second"),
        (5000, 5000, 10.0, ", 500 a second"),
        (2, 6, 60.0, ", 2.0 a minute, 2 min left"),
        (10, 10_000, 5.0, ", 2 a second, 83 min left"),
    ],
)
def test_pace(done: int, total: int | None, seconds: float, said: str) -> None:
    assert pace_words(done, total, seconds) == said
    assert PROGRESS.fullmatch(f"embedding: {done:,} of 10,000 memories{said}\n")


def test_it_says_how_far_how_fast_and_how_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter((0.0, 6.0, 6.0, 8.0, 12.0, 12.0))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with Progress("embedding", "memories", None) as bar:
        bar.reached(600, 1200)
        bar.reached(800)
        bar.add(100)
    assert capsys.readouterr().err == (
        "embedding: 600 of 1,200 memories, 100 a second, 6 s left\n"
        "embedding: 900 of 1,200 memories, 75 a second, 4 s left\n"
    )


def test_it_says_what_is_under_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter((0.0, 6.0, 6.0))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with Progress("embed", "tenants", 12) as bar:
        bar.reached(3, detail="; acme: 300 of 1,000 memories")
    said = capsys.readouterr().err
    assert said == "embed: 3 of 12 tenants, 30.0 a minute, 18 s left; acme: 300 of 1,000 memories\n"
    assert PROGRESS.fullmatch(said)
