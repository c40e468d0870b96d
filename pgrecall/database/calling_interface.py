"""The interface that a call comes through; Postgres records it in the versions of memories."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Interface = Literal["client", "cli", "http", "mcp", "page"]

_INTERFACE: ContextVar[Interface] = ContextVar("pgrecall_interface", default="client")


def current_interface() -> Interface:
    """Returns the interface that this task or thread acts for; ``client`` by default."""
    return _INTERFACE.get()


@contextmanager
def acting_through(interface: Interface) -> Iterator[None]:
    """Attributes the transactions begun inside the block, in this task or thread, to an interface."""
    token = _INTERFACE.set(interface)
    try:
        yield
    finally:
        _INTERFACE.reset(token)
