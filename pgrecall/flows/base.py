"""What a flow asks its driver for. A DatabaseError of a step is raised in the flow, where it asked."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from pgrecall.operations import Operation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Embed:
    """Asks the driver for one vector a text; it is answered with vectors or an EmbedderError."""

    texts: tuple[str, ...]


Step = Operation[Any] | Embed
Flow = Generator[Step, Any, T]
