"""Results on terminals of any width: nothing is wider than the terminal, nothing is lost."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from pgrecall.faces.render import show_hits, vitality_bar
from pgrecall.models import Hit, SearchResult

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


@pytest.mark.parametrize("width", [20, 40, 71, 72, 80, 200])
@pytest.mark.parametrize("explain", [False, True])
def test_hits_fit_the_terminal(width: int, explain: bool) -> None:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    show_hits(console, SearchResult((HIT,), names=("Ann",)), explain=explain)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(len(line) <= width for line in shown.splitlines())
    flat = "".join(shown.split())
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
    assert ("Foundbyitsword“gauges”" in flat) is explain


@pytest.mark.parametrize("vitality", [-1.0, 0.0, 0.005, 0.5, 0.999, 1.0, 7.0])
@pytest.mark.parametrize("unicode", [True, False])
def test_bars_have_one_width(vitality: float, unicode: bool) -> None:
    bar = vitality_bar(vitality, "active", unicode=unicode).plain
    assert len(bar.rsplit(" ", 1)[0]) == 8
    assert unicode or bar.isascii()
