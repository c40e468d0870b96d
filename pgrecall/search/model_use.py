"""How much a step of a search uses the language model, without the step knowing who counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pgrecall.nouns.search.plan import ModelUse

_uses: ContextVar[list[ModelUse] | None] = ContextVar("model_uses", default=None)


@contextmanager
def uses_noted(uses: list[ModelUse]) -> Iterator[None]:
    """Adds every question inside the block to ``uses``, also from threads that have its context."""
    token = _uses.set(uses)
    try:
        yield
    finally:
        _uses.reset(token)


def note_use(use: ModelUse) -> None:
    """Notes a question, if anybody counts."""
    uses = _uses.get()
    if uses is not None:
        uses.append(use)
