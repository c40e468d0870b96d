"""Readers of a shared tenant, and what is copied into it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pgrecall.nouns.memories.models import Outcome


@dataclass(frozen=True, slots=True)
class Reader:
    """A tenant that may read this one, and since when.

    Attributes:
        may_share: whether it may also copy memories of its own into this tenant.
    """

    reader: str
    since: datetime
    may_share: bool = False


@dataclass(frozen=True, slots=True)
class Shared:
    """A copy of a memory in another tenant.

    Attributes:
        id: id of the copy in the other tenant.
        key: key of the copy there: the name of this tenant, ``#`` and the id of the memory.
        outcome: ``unchanged`` if the copy had all of it already.
        secrets: the kinds of passwords, keys and tokens that the copy has placeholders for.
    """

    id: int
    key: str
    outcome: Outcome
    secrets: tuple[str, ...] = ()
