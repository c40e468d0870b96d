"""What pgrecall tells of its own work, and of what a tenant holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """Something an importer could not use: where it stands, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. ``removed`` are keys of the same source that it no longer holds."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    links_pending: int = 0
    removed: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What the link graph of a tenant looks like: ``bridges`` are the links that alone join two parts,
    ``points`` the memories whose removal cuts others off, ``protected`` those that cut off enough."""

    memories: int
    links: int
    points: int
    bridges: tuple[tuple[int, int], ...]
    protected: int


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """How many live memories a layer holds, by zone."""

    layer: str
    memories: int
    zones: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one tenant's memory and of the database it lives in."""

    tenant: str
    memories: int
    archived: int
    awaiting_embedding: int
    accesses: int
    links: int
    links_pending: int
    layers: tuple[LayerStatus, ...]
    embedder: str | None
    dimensions: int
    revision: str
    server_version: str
    statistics_at: datetime | None
