"""The view of the links around a memory, as a graph and as a table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from pgrecall.encoding import memory_reference
from pgrecall.faces.charts.plots_graph import by_weight, node_name, subgraph_of
from pgrecall.faces.charts.report_labels import Label, place_labels, reach
from pgrecall.faces.charts.report_layout import Point, lay_out
from pgrecall.faces.charts.report_svg import between
from pgrecall.faces.charts.report_words import relation_words
from pgrecall.faces.page.form_fields import int_field
from pgrecall.faces.page.request_handling import PageRequest
from pgrecall.models.charts import GraphLink, GraphNode, Neighbourhood

HOPS, MAX_HOPS = 2, 3
NODES, MAX_NODES = 60, 120
_MARGIN, _NARROWEST = 26.0, 480.0


@dataclass(frozen=True, slots=True)
class Dot:
    """A memory in the picture."""

    node: GraphNode
    name: str
    at: Point
    label: Label | None


@dataclass(frozen=True, slots=True)
class Wire:
    """The links between two memories, as one line; ``both`` when they link in both directions."""

    start: Point
    end: Point
    about: str
    both: bool


@dataclass(frozen=True, slots=True)
class Web:
    """The picture: its viewBox and its parts."""

    left: float
    top: float
    width: float
    height: float
    dots: tuple[Dot, ...]
    wires: tuple[Wire, ...]


async def links(request: PageRequest) -> Response:
    hops = int_field(request.query, "hops", HOPS, low=1, high=MAX_HOPS)
    most = int_field(request.query, "most", NODES, low=2, high=MAX_NODES)
    reference = memory_reference(request.request.path_params["memory"])
    found = await request.memory.charts.neighbourhood(reference, hops=hops, limit=most, now=request.now)
    web = await asyncio.to_thread(web_of, found)
    return await request.render(
        "links.html.j2",
        center=found.nodes[0],
        name=node_name(found.nodes[0]),
        found=found,
        web=web,
        hops=hops,
        most_hops=MAX_HOPS,
        links=_listed(found),
    )


def web_of(found: Neighbourhood) -> Web:
    """Lays out a neighbourhood; the same one always gets the same layout."""
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
    relations = _relations(found.links)
    for source, target in relations:
        both = (target, source) in relations
        if both and source > target:
            continue  # drawn once, with a tip at either end
        start, end = between(places[source], places[target])
        about = f"{names[source]} {'↔' if both else '→'} {names[target]}: {relations[source, target]}"
        yield Wire(start, end, about, both)


def _relations(links: Sequence[GraphLink]) -> dict[tuple[int, int], str]:
    words: dict[tuple[int, int], list[str]] = {}
    for link in links:
        words.setdefault((link.source, link.target), []).append(relation_words(link.relation))
    return {pair: ", ".join(dict.fromkeys(relations)) for pair, relations in words.items()}


def _listed(found: Neighbourhood) -> list[tuple[GraphNode, GraphNode, str]]:
    """The links as text, for those who cannot see the picture."""
    nodes = {node.id: node for node in found.nodes}
    return [
        (nodes[source], nodes[target], relations)
        for (source, target), relations in _relations(found.links).items()
    ]


def _extent(places: Mapping[int, Point], labels: Mapping[int, Label]) -> tuple[float, float]:
    """The left and right edge of the picture; narrow ones are centred."""
    first, last = reach(places, labels)
    left, right = first - _MARGIN, last + _MARGIN
    spare = max(_NARROWEST - (right - left), 0.0)
    return round(left - spare / 2, 1), round(right + spare / 2, 1)
