"""The link graph, and what its shape says about memories."""

from __future__ import annotations

from collections.abc import Mapping

from pgrecall.operations.base import Operation


def link_graph() -> Operation[bytes]:
    """The references between live memories, packed as :meth:`pgrecall.graph.LinkGraph.of_blob` reads them."""
    return Operation(
        "SELECT recall.link_graph() AS blob", {}, lambda rows: bytes(rows[0]["blob"] or b""), repeatable=True
    )


def store_cut_sizes(cut_sizes: Mapping[int, int]) -> Operation[int]:
    """Keeps how many memories each articulation point would cut off; the result counts the protected."""
    return Operation(
        "SELECT recall.store_cut_sizes(%(ids)s, %(sizes)s) AS protected",
        {"ids": list(cut_sizes), "sizes": list(cut_sizes.values())},
        lambda rows: int(rows[0]["protected"]),
        repeatable=True,
    )
