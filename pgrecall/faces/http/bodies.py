"""What requests hold beside the dataclasses of the package, and what answers hold that no operation names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pgrecall.models import Access, Draft

Reference = int | str
"""A memory: a number is an id, a text a key."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """Memories to store together, all of them or none."""

    drafts: tuple[Draft, ...]
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Accesses:
    """Uses of memories."""

    accesses: tuple[Access, ...]
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link to make between two memories."""

    source: Reference
    target: Reference
    relation: str = "links_to"
    weight: float = 1.0
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Supersession:
    """A memory and the one that replaces it."""

    old: Reference
    new: Reference
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of memories that a search has shown."""

    search_id: int
    memories: tuple[Reference, ...]
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting's new value for the tenant; null takes the tenant's own away again."""

    value: float | None


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment something is done at, where it is not now."""

    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """Whether anything is different now."""

    changed: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """How many it was."""

    count: int
