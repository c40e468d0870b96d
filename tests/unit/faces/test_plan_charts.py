"""The charts of a prune plan: what is drawn, what is left out, and that nothing lies on anything."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import hypot

import pytest

from pgrecall.faces.charts.graph_chart import SHAPES
from pgrecall.faces.charts.graph_layout import Area
from pgrecall.faces.charts.plan_chart import MAX_NODES, affected, plan_chart
from pgrecall.faces.charts.plan_report import plan_page
from pgrecall.faces.charts.svg import Chart, Point
from pgrecall.faces.charts.vitality_histogram import plan_histogram, planned_counts
from pgrecall.nouns.plans.prune import PrunePlan
from tests.unit.faces.chart_tools import dots, frame, of_class, parsed, places, words
from tests.unit.faces.plans import empty_plan, plan

KINDS = frozenset({"planned", "skipped", "kept", "protected", "other"})
SIZES = [(1, 0, 0), (1, 1, 0), (3, 2, 1), (40, 25, 4), (300, 120, 12), (10_000, 3_000, 400)]


@pytest.fixture(scope="module", params=SIZES, ids=str)
def sized(request: pytest.FixtureRequest) -> PrunePlan:
    items, neighbours, kept = request.param
    return plan(items=items, neighbours=neighbours, kept=kept)


@pytest.fixture(scope="module")
def drawn(sized: PrunePlan) -> Chart:
    """Its chart, for all that is looked at in it."""
    return drawn_of(sized)


def drawn_of(made: PrunePlan) -> Chart:
    chart = plan_chart(made)
    assert chart is not None
    return chart


def test_the_chart_is_bounded_and_counts_the_rest(sized: PrunePlan) -> None:
    graph = affected(sized)
    linked = {end for link in sized.report.links for end in (link.source, link.target)}
    linked |= {kept.id for kept in sized.report.kept_back}
    linked |= {example.id for kept in sized.report.kept_back for example in kept.examples}
    everybody = linked | {item.id for item in sized.items}
    drawn = [node.id for node in graph.nodes]
    assert len(drawn) == len(set(drawn)) <= MAX_NODES
    assert set(drawn) <= everybody
    assert graph.left_out == len(everybody) - len(drawn)
    without = {item.id for item in sized.items if not item.impact.links_out}
    assert graph.unlinked == len(without - set(drawn))
    assert all(edge.source in drawn and edge.target in drawn for edge in graph.edges)


def test_nodes_stand_apart_inside_the_chart(sized: PrunePlan, drawn: Chart) -> None:
    seen, nodes = frame(drawn), dots(drawn)
    assert len(nodes) == len(affected(sized).nodes) > 0
    for dot in nodes:
        assert seen.left + 8 <= dot.at.x <= seen.right - 8
        assert seen.top + 8 <= dot.at.y <= seen.bottom - 8
    for one, other in combinations(nodes, 2):
        assert hypot(one.at.x - other.at.x, one.at.y - other.at.y) > 13
    for at in places(parsed(drawn)):
        assert seen.left <= at.x <= seen.right
        assert seen.top <= at.y <= seen.bottom


def test_labels_cover_neither_nodes_nor_labels(drawn: Chart) -> None:
    seen, nodes = frame(drawn), dots(drawn)
    areas = [(dot, dot.label) for dot in nodes if dot.label]
    assert areas
    for (_, one), (_, other) in combinations(areas, 2):
        assert not one.meets(other)
    for owner, area in areas:
        assert seen.left <= area.left < area.right <= seen.right
        assert seen.top <= area.top < area.bottom <= seen.bottom
        for dot in nodes:
            x, y = dot.at
            assert dot is owner or not area.meets(Area(x - 5, y - 5, x + 5, y + 5))


def test_kept_back_memories_and_what_they_hold_come_first() -> None:
    chart = drawn_of(plan(items=500, neighbours=200, kept=9))
    assert sum("kept" in dot.kinds for dot in dots(chart)) == 9
    assert of_class(parsed(chart), "holds")


def test_kinds_differ_by_shape_and_have_their_legend() -> None:
    chart = drawn_of(plan(items=30, neighbours=12, kept=2, state="applied"))
    by_shape = {
        shape: {kind for dot in dots(chart) if shape in dot.kinds for kind in dot.kinds & KINDS}
        for shape in SHAPES
    }
    assert by_shape == {
        "diamond": {"planned", "skipped"},  # one shape, told apart by its filling
        "square": {"kept"}, "hexagon": {"protected"}, "circle": {"other"},
    }  # fmt: skip
    [legend] = of_class(parsed(chart), "legend")
    assert {"kept back", "stays, protected", "planned, then skipped", "archived", "stays"} <= set(
        words(legend)
    )


def test_every_mark_and_line_has_a_title() -> None:
    page = plan_page(plan(items=3, neighbours=2, kept=1))
    assert page.count('<g class="dot"><title>') == 6
    assert "Note number 3: planned to be archived, vitality 0.0" in page
    assert "Note number 2: kept back: without it 4 memories would be disconnected" in page
    assert "Note number 3 → Note number" in page


def test_omitted_nodes_are_mentioned() -> None:
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
    assert {node.id for node in affected(part).nodes if node.kind == "planned"} == {1, 2}
    assert sum("planned" in dot.kinds for dot in dots(drawn_of(part))) == 2
    page = plan_page(part)
    assert "Not drawn: 18 links of memories that this report does not list." in page
    assert "<bdi>memory 9</bdi>" in page


def test_an_empty_plan_draws_nothing() -> None:
    assert plan_chart(empty_plan()) is None


def heights(chart: Chart, kind: str) -> dict[str, float]:
    """How high the columns of a kind are, by their title."""
    return {
        column.findtext("title", ""): float(bar.get("height", ""))
        for column in of_class(parsed(chart), "column")
        for bar in of_class(column, kind)
    }


def test_columns_count_what_is_there() -> None:
    made = plan(items=40, live=500)
    chart, counts = plan_histogram(made), made.report.histogram
    assert sum(planned_counts(made)) == 40
    live, planned = heights(chart, "live"), heights(chart, "hatched")
    assert len(live) == sum(count > 0 for count in counts)
    for place, count in enumerate(counts):
        if count:
            title = f"Vitality {place / 20:.2f} to {(place + 1) / 20:.2f}: {count:,} live"
            [full] = [name for name in live if name.startswith(title)]
            assert live[full] == pytest.approx(live[tallest(live)] * count / max(counts), abs=0.2)
            assert planned.get(full, 0.0) <= live[full]
    assert {str(count) for count in counts if count} <= set(words(parsed(chart)))
    seen = frame(chart)
    for at in places(parsed(chart)):
        assert seen.left <= at.x <= seen.right
        assert seen.top <= at.y <= seen.bottom


def tallest(columns: dict[str, float]) -> str:
    return max(columns, key=lambda title: columns[title])


def test_one_memory_among_a_million_is_still_seen() -> None:
    [height] = heights(plan_histogram(plan(items=1, live=1_000_000)), "hatched").values()
    assert height >= 2


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
