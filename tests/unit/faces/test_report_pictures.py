"""The pictures of a plan's report: what is drawn, what is left out, and that nothing lies on anything."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import hypot

import pytest

from pgrecall.faces.charts.report_graph import MOST_NODES, affected
from pgrecall.faces.charts.report_html import plan_page
from pgrecall.faces.charts.report_labels import Area, Label, text_width
from pgrecall.faces.charts.report_layout import Point
from pgrecall.faces.charts.report_svg import SHAPES, GraphPicture, graph_picture, histogram
from pgrecall.models.prune import PrunePlan
from tests.unit.faces.plans import empty_plan, plan

SIZES = [(1, 0, 0), (1, 1, 0), (3, 2, 1), (40, 25, 4), (300, 120, 12), (10_000, 3_000, 400)]


@pytest.fixture(params=SIZES, ids=str)
def sized(request: pytest.FixtureRequest) -> PrunePlan:
    items, neighbours, kept = request.param
    return plan(items=items, neighbours=neighbours, kept=kept)


def area_of(label: Label) -> Area:
    width = text_width(label.text)
    left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
    return Area(left, label.y - 10, left + width, label.y + 3)


def test_the_picture_is_bounded_and_counts_the_rest(sized: PrunePlan) -> None:
    graph = affected(sized)
    linked = {end for link in sized.report.links for end in (link.source, link.target)}
    linked |= {kept.id for kept in sized.report.kept_back}
    linked |= {example.id for kept in sized.report.kept_back for example in kept.examples}
    everybody = linked | {item.id for item in sized.items}
    drawn = [node.id for node in graph.nodes]
    assert len(drawn) == len(set(drawn)) <= MOST_NODES
    assert set(drawn) <= everybody
    assert graph.left_out == len(everybody) - len(drawn)
    without = {item.id for item in sized.items if not item.impact.links_out}
    assert graph.unlinked == len(without - set(drawn))
    assert all(edge.source in drawn and edge.target in drawn for edge in graph.edges)


def test_nodes_stand_apart_inside_the_picture(sized: PrunePlan) -> None:
    picture = graph_picture(sized)
    assert picture.marks
    for mark in picture.marks:
        assert 8 <= mark.at.x <= picture.width - 8
        assert 8 <= mark.at.y <= picture.height - 8
    for one, other in combinations(picture.marks, 2):
        assert hypot(one.at.x - other.at.x, one.at.y - other.at.y) > 13


def test_labels_cover_neither_nodes_nor_labels(sized: PrunePlan) -> None:
    picture = graph_picture(sized)
    areas = {mark.node.id: area_of(mark.label) for mark in picture.marks if mark.label}
    assert areas
    for one, other in combinations(areas.values(), 2):
        assert not one.meets(other)
    for number, area in areas.items():
        assert 0 <= area.left < area.right <= picture.width
        assert 0 <= area.top < area.bottom <= picture.height
        for mark in picture.marks:
            x, y = mark.at
            assert mark.node.id == number or not area.meets(Area(x - 5, y - 5, x + 5, y + 5))


def test_kept_back_memories_and_what_they_hold_come_first() -> None:
    picture = graph_picture(plan(items=500, neighbours=200, kept=9))
    assert sum(mark.node.kind == "kept" for mark in picture.marks) == 9
    assert any(line.holds for line in picture.lines)


def test_kinds_differ_by_shape_and_have_their_legend() -> None:
    applied = plan(items=30, neighbours=12, kept=2, state="applied")
    picture = graph_picture(applied)
    assert set(picture.kinds) == set(SHAPES)
    filled_or_hollow = {"planned", "skipped"}  # one shape, told apart by its filling
    assert len({SHAPES[kind] for kind in SHAPES}) == len(SHAPES) - 1
    assert SHAPES["planned"] == SHAPES["skipped"]
    assert {mark.node.kind for mark in picture.marks if SHAPES[mark.node.kind] == SHAPES["planned"]} == (
        filled_or_hollow
    )
    page = plan_page(applied)
    for words in ("kept back", "stays, protected", "planned, then skipped", "archived"):
        assert f"</svg> {words}</li>" in page


def test_every_mark_and_line_tells_what_it_is() -> None:
    page = plan_page(plan(items=3, neighbours=2, kept=1))
    assert page.count('<g class="mark"><title>') == 6
    assert "Note number 3: planned to be archived, vitality 0.0" in page
    assert "Note number 2: kept back: without it 4 memories would be cut off" in page
    assert "Note number 3 → Note number" in page


def test_what_is_not_drawn_is_said() -> None:
    page = plan_page(plan(items=600, neighbours=5, kept=0))
    assert "Not drawn: 200 planned memories without any link." in page
    assert "Not drawn for want of room: 285 linked memories." in page
    assert "Not drawn" not in plan_page(plan(items=20))
    many = plan_page(plan(items=1500, neighbours=9))
    assert "The plan lists 500 of 1,000 links that end." in many
    assert "Not drawn: 500 planned memories without any link." in many


def test_links_of_memories_that_are_not_listed_are_not_drawn() -> None:
    whole = plan(items=30, neighbours=4, kept=0)
    part = replace(whole, items=whole.items[:2])
    assert {mark.node.id for mark in graph_picture(part).marks if mark.node.kind == "planned"} == {1, 2}
    page = plan_page(part)
    assert "Not drawn: 18 links of memories that this report does not list." in page
    assert "<bdi>memory 9</bdi>" in page


def test_an_empty_plan_draws_nothing() -> None:
    assert graph_picture(empty_plan()) == GraphPicture(960, 0, (), (), (), affected(empty_plan()))


def test_bars_count_what_is_there() -> None:
    made = plan(items=40, live=500)
    bars = histogram(made).bars
    assert [bar.live for bar in bars] == list(made.report.histogram)
    assert sum(bar.planned for bar in bars) == 40
    assert all(bar.planned_top >= bar.top for bar in bars)
    heights = {bar.live: histogram(made).floor - bar.top for bar in bars}
    assert heights[460] == pytest.approx(190)
    assert heights[0] == 0
    first, second = bars[0], bars[1]
    assert (heights[first.live] / heights[second.live]) == pytest.approx(first.live / second.live, rel=0.02)


def test_one_memory_among_a_million_is_still_seen() -> None:
    bars = histogram(plan(items=1, live=1_000_000)).bars
    seen = [bar for bar in bars if bar.planned]
    assert len(seen) == 1
    assert histogram(plan(items=1)).floor - seen[0].planned_top >= 2


@pytest.mark.parametrize(
    ("start", "end", "crosses"),
    [
        (Point(0, 5), Point(20, 5), True),
        (Point(5, 0), Point(5, 20), True),
        (Point(0, 0), Point(20, 20), True),
        (Point(0, 0), Point(3, 3), False),
        (Point(0, 11), Point(20, 11), False),
        (Point(0, 30), Point(30, 0), False),
    ],
)
def test_a_line_through_an_area_is_found(start: Point, end: Point, crosses: bool) -> None:
    assert Area(4, 4, 10, 10).crossed(start, end) is crosses
    assert Area(4, 4, 10, 10).crossed(end, start) is crosses
