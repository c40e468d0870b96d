"""The state of a tenant, of its link graph, and of the checks on its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pgrecall.models.jobs import JobStatus


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
class Check:
    """One thing that must hold of a tenant's data, how often it does not, and up to five examples."""

    name: str
    about: str
    problems: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one tenant's memory and of the database it lives in.

    ``links`` are those that were made, not the co_access links that use makes. ``never_used`` is the share
    of live memories without a whole access but their birth. ``accesses_waiting`` are not folded yet, the
    oldest since ``waiting_since``. ``accents_off`` says whether accents are taken off words and names before
    they are compared, which takes the extension unaccent. Nine tenths of the live memories lie between
    ``vitality_low`` and ``vitality_high``. ``alarms`` say in a sentence each what needs somebody's eye.
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
