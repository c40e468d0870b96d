"""What a job is made of: flows of bounded steps, each one transaction, with progress between them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pgrecall.workflows import Step


@dataclass(frozen=True, slots=True)
class Progress:
    """So much more is done: ``done`` things, and the same by name."""

    done: int
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """What a job is given. ``embedder`` is the name of the one at hand, ``now`` None the database's clock,
    ``batch`` None the job's own number of rows in a step."""

    embedder: str | None = None
    now: datetime | None = None
    batch: int | None = None

    def rows(self, usual: int) -> int:
        """How many rows a step takes at most."""
        return usual if self.batch is None else self.batch


JobFlow = Generator[Step | Progress, Any, None]


@dataclass(frozen=True, slots=True)
class Job:
    """A job: its name, what it does in a sentence, and the flow that does it for one tenant.

    ``whole``: it serves the whole database at once. ``joint``: it makes sense for all tenants only.
    ``by_hand``: it has no schedule.
    """

    name: str
    about: str
    flow: Callable[[Task], JobFlow]
    whole: bool = False
    joint: bool = False
    by_hand: bool = False
    embeds: bool = False
