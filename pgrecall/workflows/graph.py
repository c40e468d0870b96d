"""From the links of a tenant to what its graph says about memories."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from pgrecall import operations
from pgrecall.graph.articulation import Articulation, articulate
from pgrecall.graph.link_graph import LinkGraph
from pgrecall.models.maintenance import GraphReport
from pgrecall.workflows.base import Aside, Flow


def refresh_graph(now: datetime | None = None) -> Flow[GraphReport]:
    """Draws links whose target has come, and protects the memories that hold the graph together."""
    yield operations.settle_links()
    graph, structure = yield Aside(partial(_articulated, (yield operations.link_graph())))
    points = structure.points()
    protected = yield operations.store_cut_sizes(points, now)
    return GraphReport(graph.node_count, graph.link_count, len(points), tuple(structure.bridges), protected)


def _articulated(blob: bytes) -> tuple[LinkGraph, Articulation]:
    graph = LinkGraph.of_blob(blob)
    return graph, articulate(graph)
