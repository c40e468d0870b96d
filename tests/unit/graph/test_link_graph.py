"""The compressed link graph: one graph for every way to write its links down."""

from __future__ import annotations

import builtins
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.graph import engines
from pgrecall.graph.articulation import articulate
from pgrecall.graph.link_graph import LinkGraph

SMALLEST, LARGEST = -(2**63), 2**63 - 1
ids = st.integers(0, 12) | st.integers(SMALLEST, LARGEST) | st.sampled_from([SMALLEST, -1, LARGEST])
near = st.integers(LARGEST - 9, LARGEST)
link_lists = st.lists(st.tuples(ids, ids), max_size=40) | st.lists(st.tuples(near, near), max_size=40)


def packed(links: list[tuple[int, int]]) -> bytes:
    """As Postgres packs them: string_agg(int8send(source) || int8send(target), '')."""
    return b"".join(struct.pack(">qq", *link) for link in links)


def neighbours_of(graph: LinkGraph) -> dict[int, list[int]]:
    return {
        node: [graph.ids[at] for at in graph.neighbours[graph.starts[number] : graph.starts[number + 1]]]
        for number, node in enumerate(graph.ids)
    }


@given(link_lists, st.lists(ids, max_size=5))
@settings(deadline=None)
def test_neighbours_are_the_distinct_linked_ids_ascending(
    links: list[tuple[int, int]], nodes: list[int]
) -> None:
    expected: dict[int, set[int]] = {node: set() for node in nodes}
    for source, target in links:
        expected.setdefault(source, set()).update({target} - {source})
        expected.setdefault(target, set()).update({source} - {target})
    graph = LinkGraph.of(links, nodes=nodes, accelerate=False)
    assert neighbours_of(graph) == {node: sorted(linked) for node, linked in sorted(expected.items())}
    assert (graph.node_count, graph.link_count) == (
        len(expected),
        sum(len(linked) for linked in expected.values()) // 2,
    )
    assert [graph.number(node) for node in graph.ids] == list(range(len(expected)))


@pytest.mark.slow  # numba compiles on first use
@given(link_lists, st.lists(ids, max_size=5), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_every_way_to_write_the_links_gives_an_equal_graph(
    links: list[tuple[int, int]], nodes: list[int], random: Random
) -> None:
    pytest.importorskip("numba")
    graph = LinkGraph.of(links, nodes=nodes, accelerate=False)
    shuffled = [link[::-1] if random.random() < 0.5 else link for link in links + links[:3]]
    random.shuffle(shuffled)
    for accelerate in (False, True):
        assert LinkGraph.of(shuffled, nodes=nodes, accelerate=accelerate) == graph
        assert LinkGraph.of_blob(packed(links), nodes=nodes, accelerate=accelerate) == graph


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_blob_may_be_any_buffer(kind: Callable[[bytes], Any]) -> None:
    links = [(SMALLEST, LARGEST), (2**40, -7)]
    assert LinkGraph.of_blob(kind(packed(links))) == LinkGraph.of(links)
    assert LinkGraph.of_blob(kind(b"")) == LinkGraph.of([])


def test_a_narrow_blob_gives_the_same_graph(accelerate: bool) -> None:
    links = [(2**31 - 1, 3), (3, 0), (3, 2**31 - 1), (70_000, 0)]
    narrow = b"\x04" + b"".join(struct.pack(">ii", *link) for link in links)
    graph = LinkGraph.of(links, nodes=[2**40], accelerate=False)
    assert LinkGraph.of_blob(narrow, nodes=[2**40], accelerate=accelerate) == graph
    assert LinkGraph.of_blob(narrow, accelerate=accelerate) == LinkGraph.of(links, accelerate=False)


@pytest.mark.parametrize("blob", [b"\x04" + bytes(7), b"\x05" + bytes(8), b"\x04" + bytes(12)])
def test_half_a_narrow_pair_is_refused(blob: bytes) -> None:
    with pytest.raises(InvalidInput, match="are not whole links"):
        LinkGraph.of_blob(blob)


def test_a_blob_of_broken_pairs_is_refused() -> None:
    with pytest.raises(InvalidInput, match="24 bytes are not whole links of 16 bytes"):
        LinkGraph.of_blob(bytes(24))


@pytest.mark.parametrize(("links", "nodes"), [([(1, 2**63)], []), ([], [-(2**63) - 1])])
def test_an_id_beyond_64_bits_is_refused(links: list[tuple[int, int]], nodes: list[int]) -> None:
    with pytest.raises(InvalidInput, match="64-bit"):
        LinkGraph.of(links, nodes=nodes)


def test_an_id_that_is_not_in_the_graph_has_no_number() -> None:
    graph = LinkGraph.of([(1, 5)])
    assert [graph.number(node) for node in (0, 1, 3, 5, 6, 2**70)] == [None, 0, None, 1, None, None]


def test_importing_the_package_imports_neither_numpy_nor_numba() -> None:
    code = "import sys, pgrecall.graph; sys.exit(bool({'numpy', 'numba'} & set(sys.modules)))"
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


@pytest.fixture
def _no_numba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **named: Any) -> Any:
        if name.split(".")[0] == "numba":
            raise ImportError(name)
        return real(name, *arguments, **named)

    engines._numba_engine.cache_clear()
    monkeypatch.setattr(builtins, "__import__", refuse)
    yield
    engines._numba_engine.cache_clear()


@pytest.mark.usefixtures("_no_numba")
def test_without_numba_a_large_graph_runs_in_plain_python() -> None:
    path = [(node, node + 1) for node in range(engines.MIN_LINKS_FOR_NUMBA)]
    assert len(articulate(LinkGraph.of(path)).points()) == engines.MIN_LINKS_FOR_NUMBA - 1
    with pytest.raises(MissingExtra, match="numba is not installed"):
        LinkGraph.of(path, accelerate=True)


@pytest.mark.slow  # compiles outside the cache
def test_kernels_compile_where_nothing_can_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    real = numba.njit

    def refuse_cache(*functions: Any, cache: bool = False) -> Any:
        def no_locator(function: Any) -> Any:
            raise RuntimeError("cannot cache function: no locator available")

        return no_locator if cache else real(*functions)

    engines._compiled.cache_clear()
    monkeypatch.setattr(numba, "njit", refuse_cache)
    try:
        links = [(1, 2), (2, 3)]
        assert LinkGraph.of(links, accelerate=True) == LinkGraph.of(links, accelerate=False)
    finally:
        engines._compiled.cache_clear()
