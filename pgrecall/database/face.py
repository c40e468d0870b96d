"""Through which face a call comes, told to Postgres so that versions of memories can say it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Face = Literal["client", "cli", "http", "mcp", "page"]

_FACE: ContextVar[Face] = ContextVar("pgrecall_face", default="client")


def current_face() -> Face:
    """Returns the face that this task or thread acts for; ``client`` outside of any."""
    return _FACE.get()


@contextmanager
def acting_through(face: Face) -> Iterator[None]:
    """Makes the transactions begun inside, in this task or thread, those of a face."""
    token = _FACE.set(face)
    try:
        yield
    finally:
        _FACE.reset(token)
