"""The state of a tenant, of its link graph, and of the checks on its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pgrecall.models.jobs import JobStatus


@dataclass(frozen=True, slots=True)
class GraphReport:
    """The link graph of a tenant: ``bridges`` are links whose removal disconnects it, ``points``
    counts memories whose removal does, ``protected`` those of them that would cut off enough others."""

    memories: int
    links: int
    points: int
    bridges: tuple[tuple[int, int], ...]
    protected: int


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """The number of live memories of a layer, by zone."""

    layer: str
    memories: int
    zones: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Check:
    """An invariant of a tenant's data, the number of violations, and up to five examples."""

    name: str
    about: str
    problems: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one tenant's memory and of the database it lives in.

    ``links`` counts links without co_access links. ``never_used`` is the share of live memories that were
    not accessed since they were stored. ``accesses_waiting`` are not folded yet, the oldest since
    ``waiting_since``. ``accents_off``: accents in words and names are ignored, which needs the extension
    unaccent. The vitality of nine tenths of the live memories lies between ``vitality_low`` and
    ``vitality_high``. ``alarms`` has a sentence for each problem that needs attention.
    """

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
    language: str
    accents_off: bool
    revision: str
    server_version: str
    statistics_at: datetime | None
    never_used: float
    vitality_low: float | None
    vitality_high: float | None
    last_access_at: datetime | None
    accesses_waiting: int
    waiting_since: datetime | None
    jobs: tuple[JobStatus, ...]
    alarms: tuple[str, ...]
