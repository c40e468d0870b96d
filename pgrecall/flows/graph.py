"""From the links of a tenant to what its graph says about memories."""

from __future__ import annotations

from pgrecall import operations
from pgrecall.flows.base import Flow
from pgrecall.graph import LinkGraph, articulate
from pgrecall.models import GraphReport


def refresh_graph() -> Flow[GraphReport]:
    """Finds the memories that hold the link graph together, and has them protected."""
    graph = LinkGraph.of_blob((yield operations.link_graph()))
    structure = articulate(graph)
    points = structure.points()
    protected = yield operations.store_cut_sizes(points)
    return GraphReport(graph.node_count, graph.link_count, len(points), tuple(structure.bridges), protected)
