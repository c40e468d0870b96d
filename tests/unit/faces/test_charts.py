"""Charts of all memories, of a memory and of links: what is drawn is what is there, and stays inside."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.faces.charts.axes import NARROW, Scale, Tick, count_ticks, power_ticks, tick_labels
from pgrecall.faces.charts.chart_files import chart_document, style
from pgrecall.faces.charts.link_chart import link_chart
from pgrecall.faces.charts.memory_chart import Life, days_until, future_instants, memory_chart
from pgrecall.faces.charts.reliability import reliability_chart
from pgrecall.faces.charts.svg import Chart, element, text_width
from pgrecall.faces.charts.vitality_histogram import merged_at_zones, vitality_by_layer, vitality_histogram
from pgrecall.faces.charts.zones_over_time import zone_bar, zones_by_layer, zones_over_time
from pgrecall.faces.page.score_steps import WIDTH, score_steps
from pgrecall.faces.page.templating import kept_at, per_cent, signed_per_cent, url
from pgrecall.faces.wording import duration_words
from pgrecall.nouns.calibration.models import Agreement, Calibration, ReliabilityBin
from pgrecall.nouns.charts.models import (
    AccessRecord,
    GraphLink,
    GraphNode,
    Neighbourhood,
    VitalityCounts,
    VitalityPoint,
    ZoneShare,
)
from pgrecall.nouns.memories.models import StoredMemory
from pgrecall.nouns.search.models import Hit
from pgrecall.nouns.status.models import LayerStatus
from pgrecall.vitality.parameters import DEFAULT_ZONES, ZoneThresholds
from tests.unit.faces.chart_tools import dots, frame, of_class, parsed, places, words

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
LOG_ODDS = st.floats(-12, 12)


def hit(explanation: dict[str, Any]) -> Hit:
    return Hit(
        1, None, "knowledge", "A title", "A body.", None, None, (), NOW, 0.5, 0.5, 0.5, "stale", 1,
        explanation=explanation,
    )  # fmt: skip


@settings(max_examples=40)
@given(LOG_ODDS, LOG_ODDS, LOG_ODDS, LOG_ODDS, st.floats(-3, 0))
def test_the_reasons_add_up_to_the_score_in_per_cent(
    intercept: float, meaning: float, reread: float, vitality: float, held: float
) -> None:
    relevance = {"intercept": intercept, "similarity": meaning, "logit": intercept + meaning}
    relevance |= {"probability": 0.5, "form": "logistic", "features": {"similarity": 0.4}}
    score = {"vitality": vitality, "moved": held, "log_odds": reread + vitality + held}
    [why] = score_steps([hit({"relevance": relevance, "rerank": {"logit": reread}, "score": score})])
    *steps, whole = why.steps
    assert whole.direction == "sum"
    # What adds too little to be shown is left out.
    assert whole.value == pytest.approx(1 / (1 + math.exp(-score["log_odds"])), abs=0.005)
    if abs(intercept) >= 0.005:
        assert sum(step.value for step in steps) == pytest.approx(whole.value)
    for step in why.steps:
        assert -0.1 <= step.left <= step.left + step.width <= WIDTH + 1.1
    assert whole.width == pytest.approx(max(whole.value * WIDTH, 1.0), abs=0.1)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("tiling for Managers", "“tiling” and “Managers”"),
        ("tilings, management", "“tilings” and “management”"),
        ("who?", "“tile” and “manag”"),
        ("métile", "“tile” and “manag”"),
        ("", "“tile” and “manag”"),
    ],
)
def test_words_are_shown_as_they_were_typed(query: str, words: str) -> None:
    found = hit({"arms": {"lexical": {"rank": 1, "words": {"tile": 2.0, "manag": 1.0}}}})
    [why] = score_steps([found], query)
    assert why.reason == f"Found by the words {words}."


def test_a_word_with_accents_is_shown_as_it_was_typed() -> None:
    found = hit({"arms": {"lexical": {"rank": 1, "words": {"ubung": 2.0}}}})
    assert score_steps([found], "die Übungen")[0].reason == "Found by the word “Übungen”."


def test_a_hit_that_explains_nothing_has_no_score_steps() -> None:
    [why] = score_steps([hit({})])
    assert (why.reason, why.sentence, [step.name for step in why.steps]) == ("", "", ["score"])
    [named] = score_steps([hit({"score": {"vitality": 0.0, "exempt": True}})])
    assert (named.steps[0].name, named.steps[0].direction) == ("vitality: named in the query", "none")


def test_a_reason_fits_into_a_line() -> None:
    arms = {"semantic": {"rank": 1}, "lexical": {"rank": 2, "words": {"harbour": 3.0, "contract": 2.0}}}
    [why] = score_steps([hit({"arms": arms, "score": {"mode": "odds", "vitality": -0.4}})])
    assert why.reason == "Found by meaning and the words “harbour” and “contract”. Little use lowers it."
    [behind] = score_steps([hit({"score": {"mode": "odds", "vitality": 0.4, "moved": -2.0}})])
    assert behind.reason == "It stands behind the memory that supersedes it."


SHARES = [
    ZoneShare(NOW + timedelta(days=day), layer, zone, many)
    for day in range(3)
    for layer, zone, many in (("a", "active", 10.0), ("a", "dormant", 30.0), ("b", "fading", 60.0 - day))
]


def test_zones_stand_on_each_other_as_high_as_they_are_large() -> None:
    whole, large, small = zones_over_time(SHARES)
    assert (whole.layer, large.layer, small.layer) == ("", "b", "a")
    assert [sum(zones.values()) for zones in whole.held.values()] == [100, 99, 98]
    assert (whole.memories, large.memories, small.memories) == (98, 58, 40)
    root = parsed(whole.chart)
    areas = of_class(root, "area")
    assert [area.get("class") for area in areas] == ["area dormant", "area fading", "area active"]
    highs = []
    for area in areas:
        outline = [float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", area.get("d", ""))]
        highs.append(outline[0])
        assert len(outline) == 6
    unit = (highs[0] - 200) / -30
    assert [200 - high for high in highs] == pytest.approx([30 * unit, 90 * unit, 100 * unit], abs=0.2)
    assert {"0", "25", "50", "75", "100"} <= set(words(root))
    reaches = of_class(root, "reach")
    assert len(reaches) == 3
    for one, next_one in pairwise(reaches):
        end = float(one.get("x", "")) + float(one.get("width", ""))
        assert end == pytest.approx(float(next_one.get("x", "")), abs=0.2)
    assert zones_over_time(SHARES[:3]) == ()
    assert len(zones_over_time(SHARES[:3], [NOW - timedelta(days=1), NOW])) == 3


def test_columns_hold_every_memory_and_know_their_zone() -> None:
    counts = (1, 1, 0, 0, 5)
    root = parsed(vitality_histogram(counts, DEFAULT_ZONES))
    titles = [column.findtext("title", "") for column in of_class(root, "column")]
    assert titles == [
        "Vitality 0.00 to 0.20: 1 memory",
        "Vitality 0.20 to 0.40: 1 memory",
        "Vitality 0.80 to 1.00: 5 memories",
    ]
    bars = [column.findall("rect")[0].get("class") for column in of_class(root, "column")]
    assert bars == ["fading", "stale", "active"]
    neutral = of_class(parsed(vitality_histogram(counts, None)), "column")
    assert {column.findall("rect")[0].get("class") for column in neutral} == {"live"}
    assert not of_class(parsed(vitality_histogram((), None)), "column")


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 50), min_size=200, max_size=200),
    st.tuples(st.integers(1, 199), st.integers(1, 199), st.integers(1, 199)).filter(
        lambda cuts: len(set(cuts)) == 3
    ),
)
def test_no_bin_reaches_across_the_bound_of_a_zone(counts: list[int], cuts: tuple[int, int, int]) -> None:
    fading, stale, active = sorted(cut / 200 for cut in cuts)
    merged, edges = merged_at_zones(counts, ZoneThresholds(active, stale, fading))
    assert sum(merged) == sum(counts)
    assert {0.0, fading, stale, active, 1.0} <= set(edges)
    assert list(edges) == sorted(set(edges))
    for (low, high), memories in zip(pairwise(edges), merged, strict=True):
        assert memories == sum(counts[round(low * 200) : round(high * 200)])
    whole, ends = merged_at_zones(counts, None)
    assert (sum(whole), len(ends)) == (sum(counts), 21)


def test_a_bar_shows_every_zone_that_holds_anything() -> None:
    bar = ElementTree.fromstring(element("g", zone_bar({"active": 1, "dormant": 10_000}, 0.01)))
    widths = [(piece.get("class"), float(piece.get("width", ""))) for piece in bar]
    assert widths == [("active", 1.5), ("dormant", 100.0)]


TITLE = "</svg><script>alert('x')</script> & \x1b[31m\u202eturned " + "w" * 200


def neighbourhood(nodes: int = 40) -> Neighbourhood:
    made = tuple(
        GraphNode(
            number, None, TITLE if number == 3 else f"Memory {number}", "knowledge", min(number, 2), 0.5,
            ("active", "stale", "fading", "dormant")[number % 4], int(number == 2), number == 4, False,
            False,
        )
        for number in range(nodes)
    )  # fmt: skip
    links = [GraphLink(number // 3, number, "links_to", 1.0) for number in range(1, nodes)]
    return Neighbourhood(made, (*links, GraphLink(1, 0, "part_of", 1.0)), 5)


def life() -> Life:
    memory = SimpleNamespace(
        title=TITLE, key=None, id=1, layer="knowledge", body="",
        vitality=SimpleNamespace(vitality=0.5, zone="stale"),
    )  # fmt: skip
    born = NOW - timedelta(days=30)
    past = [at_vitality(born + timedelta(days=day), 1 / (1 + day)) for day in range(31)]
    future = [at_vitality(at, 1 / (31 + (at - NOW) / timedelta(days=1))) for at in future_instants(NOW)]
    accesses = [
        AccessRecord(1, "used", 1.0, born + timedelta(days=5), None),
        AccessRecord(2, "retrieval", 1.0, born + timedelta(days=9), None),
    ]
    zones = ZoneThresholds(0.6, 0.03, 0.01)
    return Life(cast(StoredMemory, memory), accesses, past, future, zones, NOW)


def at_vitality(at: datetime, vitality: float) -> VitalityPoint:
    return VitalityPoint(at, vitality, vitality, DEFAULT_ZONES.zone(vitality))


def calibration() -> Calibration:
    bins = tuple(
        ReliabilityBin(
            10 ** (place % 5), place / 10 + 0.05, place / 10, max(place / 10 - 0.1, 0), place / 10 + 0.1
        )
        for place in range(10)
    )
    figures = Agreement(0.5, 0.2, 0.03, 0.7)
    return Calibration(
        "relevance", TITLE, 100, 2000, 40, {}, {}, (), figures, figures, 0.0, 0.0, 0.0, bins, bins
    )  # fmt: skip


CHARTS = {
    "vitality": vitality_by_layer(
        [VitalityCounts(TITLE, 6, (1, 0, 5)), VitalityCounts("b", 1, (1,))], [], NOW
    ),
    "histogram": vitality_histogram([3, 0, 10**7, 1], DEFAULT_ZONES),
    "zones": zones_by_layer([LayerStatus(TITLE, 5, {"active": 5})], SHARES, [NOW], NOW),
    "over time": zones_over_time(SHARES)[0].chart,
    "life": memory_chart(life()),
    "histogram of a telephone": vitality_histogram([3, 0, 10**7, 1], DEFAULT_ZONES, frame=NARROW),
    "over time on a telephone": zones_over_time(SHARES, frame=NARROW)[0].chart,
    "life on a telephone": memory_chart(life(), NARROW),
    "links on a telephone": link_chart(neighbourhood(), frame=NARROW),
    "links": link_chart(neighbourhood()),
    "links of the page": link_chart(neighbourhood(), 3, "/links/{}".format),
    "reliability": reliability_chart(calibration()),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_every_chart_is_named_well_formed_and_inside_its_frame(chart: Chart) -> None:
    root = parsed(chart)
    ids = {inner.get("id") for inner in root.iter() if inner.get("id")}
    assert root.get("role") in ("img", "group")
    assert set(root.get("aria-labelledby", "").split()) <= ids
    assert root.findtext("title")
    assert root.findtext("desc")
    seen = frame(chart)
    for at in places(root):
        assert seen.left <= at.x <= seen.right, at
        assert seen.top <= at.y <= seen.bottom, at


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_file_holds_the_chart_and_needs_nothing_else(chart: Chart, dark: bool) -> None:
    document = chart_document(chart, dark=dark)
    root = ElementTree.fromstring(document)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    names = {inner.tag.rpartition("}")[2] for inner in root.iter()}
    assert not names & {"script", "image", "use", "foreignObject", "iframe"}
    assert not [name for inner in root.iter() for name in inner.attrib if name.startswith("on")]
    assert not set(document) & set("\x00\x1b\u202e")
    assert "var(" not in document
    assert "@import" not in document
    assert all(place.startswith("#") for place in re.findall(r"url\(([^)]*)\)", document))
    assert document == chart_document(chart, dark=dark)


def test_the_style_of_a_file_is_light_or_dark() -> None:
    assert style(dark=False) != style(dark=True)
    assert "--" not in style(dark=True)


def test_links_are_drawn_once_and_lead_to_memories_on_the_page_alone() -> None:
    root, page = parsed(CHARTS["links"]), parsed(CHARTS["links of the page"])
    assert len(of_class(root, "wire")) == 39  # forty links, of which two go both ways between two memories
    assert not list(root.iter("a"))
    assert [link.get("href") for link in page.iter("a")] == [f"/links/{number}" for number in range(40)]
    assert sum("square" in dot.kinds for dot in dots(CHARTS["links"])) == 1
    assert len(of_class(root, "ring")) == 2  # one, and one in the legend
    assert "5 more are not drawn" in CHARTS["links"].caption
    whole = {name.text for group in of_class(page, "whole-name") for name in group.iter("text")}
    assert len(whole) > 5, "what is cut or has no label is shown in full to a pointer"
    labels = [dot.label for dot in dots(CHARTS["links"]) if dot.label]
    assert len(labels) > 10
    assert not any(one.meets(other) for one, other in combinations(labels, 2))


def test_a_life_shows_its_accesses_and_when_it_leaves_its_zones() -> None:
    root = parsed(CHARTS["life"])
    assert [len(of_class(root, name)) for name in ("use", "showing", "curve")] == [1, 1, 2]
    leavings = [name for name in words(root) if name.startswith("leaves")]
    assert leavings == ["leaves fading in 2 months", "leaves stale in 2 days"]
    assert days_until(life().future, 0.03, NOW) == pytest.approx(1 / 0.03 - 31, rel=0.05)
    readings = (root.get("data-curve") or "").split(";")
    assert len(readings) > 100
    assert readings[0].startswith("52 18 2026-05-02 12:00: vitality was 1.000, active")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20).map(sorted))
def test_names_beneath_a_chart_never_touch(values: list[float]) -> None:
    ticks = [Tick(value, "2026-06-01"[: 1 + place % 10]) for place, value in enumerate(values)]
    root = ElementTree.fromstring(element("g", tick_labels(ticks, Scale(0, 1, 52, 960), 10)))
    ends = [
        (float(name.get("x", "")) - half, float(name.get("x", "")) + half)
        for name in root
        for half in [text_width(name.text or "", 12) / 2]
    ]
    assert ends
    assert all(one[1] < other[0] for one, other in pairwise(ends))


@given(st.floats(0, 1e12))
def test_ticks_reach_what_they_measure(most: float) -> None:
    for ticks in (count_ticks(most), power_ticks(most)):
        assert ticks[-1].value >= most
        assert [tick.value for tick in ticks] == sorted({tick.value for tick in ticks})
        assert ticks[-1].value <= max(10 * most, 10)


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (timedelta(seconds=3), "a moment"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(days=13.6), "2 weeks"),
        (timedelta(days=380), "12 months"),
        (timedelta(days=-800), "2 years"),
        (timedelta(days=36525), "100 years"),
    ],
)
def test_durations_are_worded_naturally(length: timedelta, said: str) -> None:
    assert duration_words(length) == said


def test_numbers_keep_their_sign_and_addresses_leave_out_what_is_empty() -> None:
    assert [signed_per_cent(value) for value in (0.5, -0.0004, -0.25)] == ["+50.0", "+0.0", "−25.0"]
    assert [per_cent(value) for value in (0.0, 0.0004, 0.02, 0.0996, 0.666)] == [
        "0.0",
        "<0.1",
        "2.0",
        "10",
        "67",
    ]
    assert kept_at("stale", 0.2, DEFAULT_ZONES)
    assert not kept_at("fading", 0.2, DEFAULT_ZONES)
    assert not kept_at("fading", 0.5, None)
    assert (
        url("/", {"q": "a b&c", "k": "", "used": ["1", "2"], "rerank": True})
        == "/?q=a+b%26c&used=1&used=2&rerank=1"
    )
