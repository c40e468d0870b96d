"""The state of a tenant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pgrecall.nouns.jobs.models import JobStatus
from pgrecall.nouns.memories.models import AccessCounts


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """The number of live memories of a layer, by zone."""

    layer: str
    memories: int
    zones: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """A standby that answers searches unless it lags more than ``limit`` seconds.

    ``behind`` is how many bytes of the primary's log it has not replayed. ``staleness`` is how many seconds
    of changes it lacks at most, None if unknown. ``problem`` says why it does not answer; empty if
    it does.
    """

    limit: float
    behind: int | None = None
    staleness: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one tenant's memory and of the database it lives in.

    ``passages`` counts the additional vectors of long memories; ``awaiting_passages`` the memories that were
    not checked for passages yet. ``links`` excludes co_access links. ``access_counts`` counts the accesses of
    all memories. ``never_used`` is the share of live memories that were never used; being stored or shown
    does not count. ``accesses_waiting`` are not folded yet, the oldest since ``waiting_since``.
    ``accents_off``: accents in words and names are ignored, which needs the extension unaccent. ``cell`` is
    the number of the cell, None where there are none. The vitality of nine tenths of the live memories lies
    between ``vitality_low`` and ``vitality_high``. ``alarms`` has a sentence for each problem that needs
    attention. ``replica`` is None without one.
    """

    tenant: str
    memories: int
    archived: int
    awaiting_embedding: int
    passages: int
    awaiting_passages: int
    access_counts: AccessCounts
    links: int
    links_pending: int
    layers: tuple[LayerStatus, ...]
    embedder: str | None
    dimensions: int
    language: str
    accents_off: bool
    revision: str
    cell: int | None
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
    replica: ReplicaStatus | None = None
