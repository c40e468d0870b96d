"""Few removed nodes that, given back, join all pieces of their components: the first half of ``trim``.

The least number is a node-weighted Steiner tree, NP-hard to find. This joins greedily by stars and
then by shortest chains (Voronoi regions as in Mehlhorn 1988), in time near linear in the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from pgrecall.graph.components import Pieces, find
from pgrecall.graph.csr import LinkGraph
from pgrecall.graph.kernels import NONE, Engine, Ints


class Board(NamedTuple):
    """The state that kernels share; by node number unless said otherwise.

    ``present``: 1 or 0. ``root``: union-find parents of the pieces. ``rank``: place in the caller's
    order, and ``by_rank`` its inverse. ``claim``: how many pieces a removed node was last known to
    touch. ``mark``: scratch. ``tally``: [pieces left, pieces wanted, last mark used].
    """

    starts: Ints
    neighbours: Ints
    present: Ints
    root: Ints
    rank: Ints
    by_rank: Ints
    claim: Ints
    mark: Ints
    tally: Ints


class Regions(NamedTuple):
    """For each removed node its nearest piece (by one of its nodes), how far, and the way there."""

    piece: Ints
    distance: Ints
    toward: Ints
    queue: Ints


def give_back(
    engine: Engine, graph: LinkGraph, present: Ints, pieces: Pieces, order: Sequence[int]
) -> list[int]:
    """Those node numbers of ``order``, still in order, that join the pieces as far as links allow."""
    nodes = graph.node_count
    rank, by_rank = engine.filled(nodes, NONE), engine.filled(len(order), 0)
    for place, node in enumerate(order):
        rank[node], by_rank[place] = place, node
    counts = engine.filled(3, 0)
    counts[0], counts[1] = pieces.count, pieces.wanted
    board = Board(
        starts=engine.vector(graph.starts),
        neighbours=engine.vector(graph.neighbours),
        present=engine.copied(present),
        root=engine.copied(pieces.root),
        rank=rank,
        by_rank=by_rank,
        claim=engine.filled(nodes, 0),
        mark=engine.filled(nodes, 0),
        tally=counts,
    )
    regions = Regions(*(engine.filled(nodes, NONE) for _ in range(4)))
    helpers = (find, touched, push, bring_back, join_by_stars, spread_regions, meetings, bring_chain_back)
    engine.kernel(join_pieces, *helpers)(board, regions)
    return [node for node in order if board.present[node]]


def join_pieces(board: Board, regions: Regions) -> None:
    heap = [0 for _ in range(0)]  # numba learns the element type from this
    for node in board.by_rank:
        board.claim[node] = touched(board, node)
        if board.claim[node] > 1:
            heap.append(-board.claim[node] * len(board.rank) + board.rank[node])
    heapify(heap)
    join_by_stars(board, heap)
    if board.tally[0] == board.tally[1]:
        return
    spread_regions(board, regions)
    for code in meetings(board, regions):
        at = code % len(board.neighbours)
        other = board.neighbours[at]
        node = regions.queue[code // len(board.neighbours) % len(board.rank)]
        if find(board.root, regions.piece[node]) != find(board.root, regions.piece[other]):
            bring_chain_back(board, regions, node, heap)
            bring_chain_back(board, regions, other, heap)
            join_by_stars(board, heap)


def touched(board: Board, node: int) -> int:
    """How many pieces a removed node is linked to."""
    neighbours, present, root, mark = board.neighbours, board.present, board.root, board.mark
    board.tally[2] += 1
    stamp, count = board.tally[2], 0
    for at in range(board.starts[node], board.starts[node + 1]):
        other = neighbours[at]
        if present[other]:
            piece = find(root, other)
            if mark[piece] != stamp:
                mark[piece] = stamp
                count += 1
    return count


def push(board: Board, heap: list[int], node: int) -> None:
    """The heap's smallest is the node with the largest claim, of equals the first in rank."""
    heappush(heap, -board.claim[node] * len(board.rank) + board.rank[node])


def join_by_stars(board: Board, heap: list[int]) -> None:
    """Gives back the node that joins most pieces, again and again; claims are checked when they win."""
    while len(heap) > 0 and board.tally[0] > board.tally[1]:
        code = heappop(heap)
        node = board.by_rank[code % len(board.rank)]
        if board.present[node] or code // len(board.rank) != -board.claim[node]:
            continue
        count = touched(board, node)
        if count == board.claim[node]:
            bring_back(board, node, heap)
        else:
            board.claim[node] = count
            if count > 1:
                push(board, heap, node)


def bring_back(board: Board, node: int, heap: list[int]) -> None:
    """The node is present and joins its pieces; removed neighbours may now touch one piece more."""
    board.present[node] = 1
    board.root[node] = node
    board.tally[0] += 1
    for at in range(board.starts[node], board.starts[node + 1]):
        other = board.neighbours[at]
        if board.present[other]:
            one, two = find(board.root, node), find(board.root, other)
            if one != two:
                board.root[max(one, two)] = min(one, two)
                board.tally[0] -= 1
        else:
            board.claim[other] += 1
            if board.claim[other] > 1:
                push(board, heap, other)


def spread_regions(board: Board, regions: Regions) -> None:
    """Breadth first from all pieces at once through the removed nodes, none of which touches two."""
    count = 0
    for node in board.by_rank:
        if board.present[node]:
            continue
        for at in range(board.starts[node], board.starts[node + 1]):
            if board.present[board.neighbours[at]]:
                regions.piece[node] = board.neighbours[at]
                regions.distance[node] = 1
                regions.queue[count] = node
                count += 1
                break
    at_queue = 0
    while at_queue < count:
        node = regions.queue[at_queue]
        at_queue += 1
        for at in range(board.starts[node], board.starts[node + 1]):
            other = board.neighbours[at]
            if not board.present[other] and regions.piece[other] == NONE:
                regions.piece[other] = regions.piece[node]
                regions.distance[other] = regions.distance[node] + 1
                regions.toward[other] = node
                regions.queue[count] = other
                count += 1


def meetings(board: Board, regions: Regions) -> list[int]:
    """Links between regions, shortest chain first, as (length, place in the queue, place of the link)."""
    codes = [0 for _ in range(0)]
    nodes, links = len(board.rank), len(board.neighbours)
    for place in range(nodes):
        node = regions.queue[place]
        if node == NONE:
            break
        home = find(board.root, regions.piece[node])
        for at in range(board.starts[node], board.starts[node + 1]):
            other = board.neighbours[at]
            if node < other and not board.present[other] and find(board.root, regions.piece[other]) != home:
                length = regions.distance[node] + regions.distance[other]
                codes.append((length * nodes + place) * links + at)
    codes.sort()
    return codes


def bring_chain_back(board: Board, regions: Regions, node: int, heap: list[int]) -> None:
    while node != NONE:
        if not board.present[node]:
            bring_back(board, node, heap)
        node = regions.toward[node]
