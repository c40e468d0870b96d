"""What the jobs and the client compute on the link graph, between reading it and storing what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgrecall.graph.articulation import articulate
from pgrecall.graph.csr import LinkGraph
from pgrecall.graph.removal import trim
from pgrecall.models.maintenance import GraphReport


@dataclass(frozen=True, slots=True)
class GraphShape:
    """The size of a link graph, its bridges, and how many memories each articulation point would cut off."""

    memories: int
    links: int
    bridges: tuple[tuple[int, int], ...]
    cut_sizes: Mapping[int, int]

    def report(self, protected: int) -> GraphReport:
        """The report once it is known how many memories are protected."""
        return GraphReport(self.memories, self.links, len(self.cut_sizes), self.bridges, protected)


def graph_shape(blob: bytes) -> GraphShape:
    """The shape of a graph as ``recall.link_graph`` packs it."""
    graph = LinkGraph.of_blob(blob)
    found = articulate(graph)
    return GraphShape(graph.node_count, graph.link_count, tuple(found.bridges), found.points())


def kept_back(blob: bytes, candidates: Sequence[int]) -> tuple[int, ...]:
    """Those of the candidates, the least lively first, that must stay so that nothing is cut off.

    The liveliest is kept back first. SQL alone would keep back more (see :func:`pgrecall.graph.trim`).
    """
    trimmed = trim(LinkGraph.of_blob(blob), reversed(candidates), examples=0)
    return tuple(node.id for node in trimmed.kept_back)
