"""The link graph as compressed sparse rows: undirected, without self links and duplicates."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from pgrecall.errors import InvalidInput
from pgrecall.graph.engines import NONE, Engine, Ints, choose_engine

PAIR_BYTES = 16
FOUR_BYTE_IDS = 4
"""The first byte of a blob whose ids take four bytes each."""


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """Node number i is the memory ``ids[i]``; ids ascend, so smaller numbers are smaller ids.

    ``neighbours[starts[i]:starts[i + 1]]`` are the numbers of its neighbours, ascending. The same
    links in any order and direction, however often repeated, give an equal graph.
    """

    ids: array[int]
    starts: array[int]
    neighbours: array[int]

    @property
    def node_count(self) -> int:
        return len(self.ids)

    @property
    def link_count(self) -> int:
        return len(self.neighbours) // 2

    def number(self, node: int) -> int | None:
        """Returns the node number of an id; None if the graph does not have it."""
        at = bisect_left(self.ids, node)
        return at if at < len(self.ids) and self.ids[at] == node else None

    @classmethod
    def of(
        cls, links: Iterable[tuple[int, int]], *, nodes: Iterable[int] = (), accelerate: bool | None = None
    ) -> LinkGraph:
        """Builds the graph of these links and of ``nodes``, which may have none.

        Raises:
            InvalidInput: an id does not fit 64 bits.

        >>> LinkGraph.of([(7, 9), (9, 7), (9, 9)]).link_count
        1
        """
        try:
            ends = array("q", [end for source, target in links for end in (source, target)])
            return _graph(ends, array("q", nodes), accelerate)
        except OverflowError:
            raise InvalidInput("A node id does not fit into a signed 64-bit integer.") from None

    @classmethod
    def of_blob(
        cls,
        blob: bytes | bytearray | memoryview,
        *,
        nodes: Iterable[int] = (),
        accelerate: bool | None = None,
    ) -> LinkGraph:
        """Builds the graph of packed links, as ``recall.link_graph()`` returns them.

        The format is pairs (source, target) of signed integers, most significant byte first: eight bytes for
        each id, or a byte 4 and then four bytes for each id.

        Raises:
            InvalidInput: the bytes are not whole pairs.
        """
        ends = _unpack(memoryview(blob).cast("B"))
        if sys.byteorder == "little":
            ends.byteswap()
        return _graph(ends, array("q", nodes), accelerate)


def _unpack(blob: memoryview) -> array[int]:
    ends, size = array("q"), blob.nbytes
    if size % (PAIR_BYTES // 2) == 1 and blob[0] == FOUR_BYTE_IDS:
        ends, blob = array("i"), blob[1:]
    elif size % PAIR_BYTES:
        raise InvalidInput(f"{size} bytes are not whole links of {PAIR_BYTES} bytes each.")
    ends.frombytes(blob)
    return ends


def _graph(ends: array[int], nodes: array[int], accelerate: bool | None) -> LinkGraph:
    engine = choose_engine(len(ends) // 2, accelerate)
    ids, places = engine.number_ids(array("q", ends) + nodes if nodes else ends)
    starts, neighbours = _adjacency(engine, places, len(ends), len(ids))
    return LinkGraph(ids, starts, neighbours)


def _adjacency(engine: Engine, ends: Ints, count: int, nodes: int) -> tuple[array[int], array[int]]:
    starts = engine.full(nodes + 1, 0)
    loose, cursor = engine.full(count, 0), engine.full(nodes, 0)
    engine.kernel(_scatter)(ends, count, starts, cursor, loose)
    neighbours = engine.full(count, 0)
    kept = engine.kernel(_order)(starts, cursor, loose, neighbours)
    return engine.to_array(starts), engine.to_array(neighbours[:kept])


def _scatter(ends: Ints, count: int, starts: Ints, cursor: Ints, loose: Ints) -> None:
    """Writes each node's neighbours into its own part of ``loose``, in the order of the links."""
    for at in range(0, count, 2):
        if ends[at] != ends[at + 1]:
            starts[ends[at] + 1] += 1
            starts[ends[at + 1] + 1] += 1
    for node in range(len(cursor)):
        cursor[node] = starts[node]
        starts[node + 1] += starts[node]
    for at in range(0, count, 2):
        source, target = ends[at], ends[at + 1]
        if source != target:
            loose[cursor[source]] = target
            cursor[source] += 1
            loose[cursor[target]] = source
            cursor[target] += 1


def _order(starts: Ints, cursor: Ints, loose: Ints, neighbours: Ints) -> int:
    """Sorts each node's neighbours, drops duplicates, adjusts ``starts``; returns how many are left.

    The graph is its own transpose, and transposing it node by node sorts every neighbour list.
    """
    nodes = len(cursor)
    for node in range(nodes):
        cursor[node] = starts[node]
    for node in range(nodes):
        for at in range(starts[node], starts[node + 1]):
            other = loose[at]
            place = cursor[other]
            neighbours[place] = node
            cursor[other] = place + 1
    kept = 0
    for node in range(nodes):
        first, end = starts[node], cursor[node]
        starts[node] = kept
        last = NONE
        for at in range(first, end):
            other = neighbours[at]
            if other != last:
                neighbours[kept] = last = other
                kept += 1
    starts[nodes] = kept
    return kept
