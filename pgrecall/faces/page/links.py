"""The links around a memory: who refers to whom, how alive each is, and what holds the parts together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from pgrecall.faces.charts.plots_graph import by_weight, node_name, subgraph_of
from pgrecall.faces.charts.report_labels import Label, place_labels, reach
from pgrecall.faces.charts.report_layout import Point, lay_out
from pgrecall.faces.charts.report_svg import between
from pgrecall.faces.charts.report_words import relation_words
from pgrecall.faces.cli.values import parse_reference
from pgrecall.faces.page.form_fields import whole
from pgrecall.faces.page.request_handling import Visit
from pgrecall.models.charts import GraphLink, GraphNode, Neighbourhood

HOPS, MOST_HOPS = 2, 3
NODES, MOST_NODES = 60, 120
_MARGIN, _NARROWEST = 26.0, 480.0


@dataclass(frozen=True, slots=True)
class Dot:
    """A memory as it is drawn."""

    node: GraphNode
    name: str
    at: Point
    label: Label | None


@dataclass(frozen=True, slots=True)
class Wire:
    """One or more links between two memories, as one line; ``both`` says that they refer to each other."""

    start: Point
    end: Point
    about: str
    both: bool


@dataclass(frozen=True, slots=True)
class Web:
    """The picture: from where to where it reaches, and what it holds."""

    left: float
    top: float
    width: float
    height: float
    dots: tuple[Dot, ...]
    wires: tuple[Wire, ...]


async def around(visit: Visit) -> Response:
    """The picture of what lies around a memory, and the same as a table."""
    hops = whole(visit.query, "hops", HOPS, low=1, high=MOST_HOPS)
    most = whole(visit.query, "most", NODES, low=2, high=MOST_NODES)
    reference = parse_reference(visit.request.path_params["memory"])
    found = await visit.memory.charts.neighbourhood(reference, hops=hops, limit=most, now=visit.now)
    web = await asyncio.to_thread(web_of, found)
    return await visit.page(
        "links.html.j2",
        center=found.nodes[0],
        name=node_name(found.nodes[0]),
        found=found,
        web=web,
        hops=hops,
        most_hops=MOST_HOPS,
        links=_listed(found),
    )


def web_of(found: Neighbourhood) -> Web:
    """What lies around a memory, laid out; the same neighbourhood is always laid out alike."""
    graph = subgraph_of(found)
    places = lay_out(graph).places
    drawn = [(places[edge.source], places[edge.target]) for edge in graph.edges]
    height = max(at.y for at in places.values()) + 2 * _MARGIN
    labels = place_labels(by_weight(found, graph), places, drawn, height)
    left, right = _extent(places, labels)
    top, bottom = (pick(at.y for at in places.values()) for pick in (min, max))
    dots = tuple(Dot(node, node_name(node), places[node.id], labels.get(node.id)) for node in found.nodes)
    wires = tuple(_wires(found, places))
    return Web(left, top - _MARGIN, right - left, bottom - top + 2 * _MARGIN, dots, wires)


def _wires(found: Neighbourhood, places: Mapping[int, Point]) -> Iterator[Wire]:
    names = {node.id: node_name(node) for node in found.nodes}
    said = _relations(found.links)
    for source, target in said:
        both = (target, source) in said
        if both and source > target:
            continue  # drawn once, with a tip at either end
        start, end = between(places[source], places[target])
        about = f"{names[source]} {'↔' if both else '→'} {names[target]}: {said[source, target]}"
        yield Wire(start, end, about, both)


def _relations(links: Sequence[GraphLink]) -> dict[tuple[int, int], str]:
    said: dict[tuple[int, int], list[str]] = {}
    for link in links:
        said.setdefault((link.source, link.target), []).append(relation_words(link.relation))
    return {pair: ", ".join(dict.fromkeys(relations)) for pair, relations in said.items()}


def _listed(found: Neighbourhood) -> list[tuple[GraphNode, GraphNode, str]]:
    """The links in words: what the picture shows, for those who do not see it."""
    nodes = {node.id: node for node in found.nodes}
    return [
        (nodes[source], nodes[target], relations)
        for (source, target), relations in _relations(found.links).items()
    ]


def _extent(places: Mapping[int, Point], labels: Mapping[int, Label]) -> tuple[float, float]:
    """From where to where the picture reaches: with what it shows in the middle where that is narrow."""
    first, last = reach(places, labels)
    left, right = first - _MARGIN, last + _MARGIN
    spare = max(_NARROWEST - (right - left), 0.0)
    return round(left - spare / 2, 1), round(right + spare / 2, 1)
