"""pgrecall charts: files, and what is refused before anything is drawn."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pgrecall.faces.charts.axes import ZONES
from pgrecall.faces.charts.chart_files import colours
from pgrecall.faces.charts.memory_chart import days_until, future_instants
from pgrecall.nouns.charts.models import VitalityPoint
from tests.acceptance.cli.command_tools import Command

pytestmark = pytest.mark.in_turns

pytest.importorskip("resvg_py")

NOW = datetime(2026, 11, 1, tzinfo=UTC)
KINDS = (("vitality",), ("zones", "--instants", "3"), ("memory", "harbour"), ("links", "harbour"))


@pytest.fixture
def filled(pgrecall: Command, tmp_path: Path) -> Command:
    notes = [
        '{"key": "harbour", "title": "The $5 harbour & <quay>", "body": "Mira signs.", "links": ["mira"]}',
        '{"key": "mira", "title": "Mira", "body": "Signs contracts.", "layer": "entity"}',
    ]
    (tmp_path / "notes.jsonl").write_text("\n".join(notes))
    assert pgrecall("import", "notes.jsonl").code == 0
    return pgrecall


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[0])
def test_every_kind_is_drawn_as_png_and_as_svg(
    filled: Command, tmp_path: Path, kind: tuple[str, ...]
) -> None:
    later = (datetime.now(UTC) + timedelta(days=40)).isoformat()
    for name, flags in (("p.png", ()), ("p.svg", ()), ("dark.svg", ("--dark",))):
        done = filled("charts", *kind, "--out", name, "--now", later, *flags)
        assert (done.code, done.out) == (0, ""), done.err
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(tmp_path / "p.svg").getroot().tag.endswith("}svg")
    light, dark = (tmp_path / "p.svg").read_text(), (tmp_path / "dark.svg").read_text()
    pages = colours(dark=False)["page"], colours(dark=True)["page"]
    assert [page in light for page in pages] == [True, False]
    assert [page in dark for page in pages] == [False, True]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("vitality", "--out", "p.bmp"), "does not end in .png or .svg."),
        (("links", "harbour", "--out", "no/p.png"), "There is no folder 'no'."),
        (("memory", "nobody", "--out", "p.png"), "There is no memory with key 'nobody'"),
        (("zones", "--out", "p.png", "--instants", "1"), "--instants is 1; it must lie between 2 and 100."),
        (("zones", "--out", "p.png", "--since", "9999-01-01"), "--since"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_drawn_is_refused(
    filled: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = filled("charts", *arguments)
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "p.png").exists()


def test_nothing_is_drawn_of_nothing(pgrecall: Command, tmp_path: Path) -> None:
    for kind in ("vitality", "zones"):
        done = pgrecall("charts", kind, "--out", "p.png")
        assert (done.code, "no live memories" in done.err) == (1, True)
    assert not (tmp_path / "p.png").exists()


def test_when_a_zone_is_left_is_read_off_the_curve() -> None:
    """For vitality 1 / (1 + days) the day of a threshold t is 1 / t - 1."""
    points = []
    for at in future_instants(NOW):
        vitality = 1 / (1 + (at - NOW).total_seconds() / 86400)
        points.append(VitalityPoint(at, vitality, vitality, ""))
    for threshold in (0.6, 0.3, 0.1):
        found = days_until(points, threshold, NOW)
        assert found is not None
        assert math.isclose(found, 1 / threshold - 1, rel_tol=0.01)
    assert days_until(points, 1e-9, NOW) is None
    assert days_until(points, 1.5, NOW) == 0


# Machado, Oliveira & Fernandes (2009), full severity, on linear RGB.
BLINDNESS = {
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def lab(colour: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    """CIE L*a*b* (D65) of a colour as somebody with this vision sees it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    seen = [min(max(sum(w * v for w, v in zip(row, linear, strict=True)), 0), 1) for row in matrix]
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    whites = (0.9505, 1.0, 1.089)
    x, y, z = (
        sum(w * v for w, v in zip(row, seen, strict=True)) / white
        for row, white in zip(rows, whites, strict=True)
    )
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


@pytest.mark.parametrize("vision", BLINDNESS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_zones_are_distinguishable_with_any_colour_vision(dark: bool, vision: str) -> None:
    values = colours(dark=dark)
    seen = [lab(values[name], BLINDNESS[vision]) for name in (*ZONES, "page")]
    for place, one in enumerate(seen):
        assert all(math.dist(one, other) > 15 for other in seen[:place])
