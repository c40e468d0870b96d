"""The link graph, and what its shape says about memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from pgrecall.operations.operation import NOW, Operation


def settle_links() -> Operation[int]:
    """Draws links that wait for memories that are there; the result counts the memories that gained one."""
    return Operation(
        "SELECT recall.resolve_pending_links() AS linked",
        {},
        lambda rows: int(rows[0]["linked"]),
        repeatable=True,
    )


def link_graph() -> Operation[bytes]:
    """The references between live memories, packed as :meth:`pgrecall.graph.LinkGraph.of_blob` reads them."""
    return Operation(
        "SELECT recall.link_graph() AS blob",
        {},
        lambda rows: bytes(rows[0]["blob"] or b""),
        repeatable=True,
        binary=True,
    )


def store_cut_sizes(cut_sizes: Mapping[int, int], now: datetime | None = None) -> Operation[int]:
    """Keeps how many memories each articulation point would cut off; the result counts the protected."""
    return Operation(
        f"SELECT recall.store_cut_sizes(%(ids)s, %(sizes)s, {NOW}) AS protected",
        {"ids": _array(cut_sizes), "sizes": _array(cut_sizes.values()), "now": now},
        lambda rows: int(rows[0]["protected"]),
        repeatable=True,
    )


def _array(numbers: Iterable[int]) -> str:
    """What Postgres reads as an array; the driver would look at each number by itself."""
    return f"{{{','.join(map(str, numbers))}}}"
