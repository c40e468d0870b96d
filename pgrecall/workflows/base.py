"""What a flow asks its driver for. A DatabaseError of a step is raised in the flow, where it asked."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from pgrecall.operations import Operation
from pgrecall.search.rerank.scores import RerankCandidate

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Embed:
    """Asks the driver for one vector a text; it is answered with vectors or an EmbedderError."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rerank:
    """Asks the driver to have candidates reread; it is answered with a RerankOutcome, whatever happens.

    ``deadline`` is in seconds; None sets no limit.
    """

    query: str
    candidates: tuple[RerankCandidate, ...]
    top_n: int
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Aside:
    """Asks the driver to do work that takes its time without Postgres: files read, a graph walked.

    It is answered with what the work returns. An event loop has a thread do it; a task that is cancelled
    meanwhile calls ``give_up``, where there is one, and waits for the work to end.
    """

    work: Callable[[], Any]
    give_up: Callable[[], None] | None = None


LocalStep = Embed | Rerank | Aside
"""What needs no Postgres; :class:`pgrecall.workflows.tools.Tools` answers it."""

Step = Operation[Any] | LocalStep
Flow = Generator[Step, Any, T]
