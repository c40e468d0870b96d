"""The articulation points of any graph and of large shapes, with networkx as the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import networkx as nx
import pytest

from tests.conftest import NOW
from tests.databases import Query

REFERENCES = ("links_to", "mentions", "implies", "supports", "derived_from")
RELATIONS = (*REFERENCES, "next", "part_of")
GRAPHS = 10_000
LONG, SHORT = 100_000, 20_000

Links = Iterable[tuple[int, int, str]]


def store(sql: Query, memories: int, links: Links, archived: Iterable[int] = ()) -> None:
    """Links between the ids 1 to ``memories``.

    The graph reads of memories only which are archived, so there are no others: a hundred thousand would take
    longer than the test. Without triggers foreign keys are not checked.
    """
    sql("SET LOCAL session_replication_role = replica")
    sql(
        "INSERT INTO recall.memory (tenant, id, layer, body, created_at, updated_at, archived_at) "
        "OVERRIDING SYSTEM VALUE SELECT 'acme', i, 'knowledge', 'x', %(now)s, %(now)s, %(now)s "
        "FROM unnest(%(archived)s::bigint[]) i",
        {"archived": list(archived), "now": NOW},
    )
    sql(
        "INSERT INTO recall.activation (tenant, memory_id, n, first_at, t1, folded_until, decay, clock) "
        "SELECT 'acme', i, 1, 0, 0, %s, 0.5, 1 FROM generate_series(1, %s) i",
        (NOW, memories),
    )
    sources, targets, relations = zip(*links, strict=True)
    sql(
        "INSERT INTO recall.link (tenant, src, dst, relation, created_at) SELECT 'acme', s, d, r, %s "
        "FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) u(s, d, r)",
        (NOW, list(sources), list(targets), list(relations)),
    )


def refresh(sql: Query) -> dict[str, Any]:
    [report] = sql("SELECT * FROM recall.refresh_graph(%s)", (NOW,))
    return report


def stored(sql: Query) -> dict[int, int]:
    """The cut sizes of articulation points by id."""
    rows = sql("SELECT memory_id, cut_size FROM recall.activation WHERE tenant = 'acme' AND cut_size > 0")
    return {row["memory_id"]: row["cut_size"] for row in rows}


def cut_sizes(graph: nx.Graph[int]) -> dict[int, int]:
    """How many nodes the loss of each articulation point parts from the largest piece that is left."""
    sizes = {}
    for nodes in nx.connected_components(graph):
        piece = graph.subgraph(nodes)
        for point in nx.articulation_points(piece):
            rest = [len(part) for part in nx.connected_components(piece.subgraph(nodes - {point}))]
            sizes[point] = sum(rest) - max(rest)
    return sizes


def test_ten_thousand_random_graphs_agree_with_networkx(sql: Query) -> None:
    """The graphs lie side by side in one tenant, with links there and back, by several relations, and of no
    reference, and with archived memories. ``protected`` follows from the cut size."""
    random = Random(7)
    links: set[tuple[int, int, str]] = set()
    memories = 0
    for _ in range(GRAPHS):
        size = random.randint(2, 9)
        nodes = range(memories + 1, memories + size + 1)
        for _ in range(random.randint(1, 2 * size - 2)):
            links.add((*random.sample(nodes, 2), random.choice(RELATIONS)))
        memories += size
    archived = set(random.sample(range(1, memories + 1), memories // 20))
    store(sql, memories, links, archived)
    graph: nx.Graph[int] = nx.Graph(
        (source, target)
        for source, target, relation in links
        if relation in REFERENCES and not {source, target} & archived
    )
    sizes = cut_sizes(graph)
    report = refresh(sql)
    assert stored(sql) == sizes
    assert report["bridges"] == sorted([min(link), max(link)] for link in nx.bridges(graph))
    assert (report["memories"], report["links"]) == (len(graph), graph.size())
    assert (report["points"], report["protected"]) == (len(sizes), sum(size >= 3 for size in sizes.values()))
    protected = sql("SELECT count(*) AS n FROM recall.activation WHERE protected AND cut_size >= 3")
    assert protected == [{"n": report["protected"]}]


def tree_of_cliques(branches: int) -> nx.Graph[int]:
    """The links of a tree that meet form a clique: with two for each node, a clique of three."""
    return nx.convert_node_labels_to_integers(nx.line_graph(nx.full_rary_tree(branches, SHORT)))


@pytest.mark.parametrize(
    ("shape", "largest"),
    [
        pytest.param(lambda: nx.path_graph(LONG), (LONG - 1) // 2, id="path"),
        pytest.param(lambda: nx.star_graph(SHORT - 1), SHORT - 2, id="star"),
        pytest.param(lambda: nx.cycle_graph(SHORT), 0, id="ring"),
        pytest.param(lambda: nx.windmill_graph(SHORT // 4, 5), SHORT - 4, id="cliques around one"),
        pytest.param(lambda: tree_of_cliques(2), None, id="tree of cliques"),
        pytest.param(lambda: tree_of_cliques(9), None, id="tree of larger cliques"),
        pytest.param(lambda: nx.Graph((i, i + 1) for i in range(0, SHORT, 2)), 0, id="pairs"),
    ],
)
def test_large_shapes(sql: Query, shape: Callable[[], nx.Graph[int]], largest: int | None) -> None:
    """Deep and wide as can be; a recursive walk would exhaust the stack."""
    graph = nx.relabel_nodes(shape(), lambda node: node + 1)
    store(sql, len(graph), [(*link, "links_to") for link in graph.edges])
    report, sizes = refresh(sql), stored(sql)
    assert (report["memories"], report["links"]) == (len(graph), graph.size())
    assert set(sizes) == set(nx.articulation_points(graph))
    assert (report["points"], len(report["bridges"])) == (len(sizes), sum(1 for _ in nx.bridges(graph)))
    if largest is not None:
        assert max(sizes.values(), default=0) == largest
