"""Redact plans, converted from the document that ``recall.get_plan`` returns, and stored texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pgrecall.nouns.conversion import read_document
from pgrecall.nouns.plans.prune import PlanState

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredTexts:
    """The texts of a memory, or with a ``version`` above 0 of an earlier version of it. Only for plans:
    ``digest`` tells whether they changed since."""

    memory_id: int
    version: int
    texts: Document
    digest: str


@dataclass(frozen=True, slots=True)
class SecretFound:
    """Where secrets of a kind are: the ``field`` of a memory, or of its version with this number, and how
    many. What they are is never told."""

    version: int | None
    field: str
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class RedactItem:
    """A memory with secrets. ``note`` is the reason why it was skipped."""

    id: int
    layer: str
    place: int
    findings: tuple[SecretFound, ...]
    outcome: Literal["redacted", "skipped"] | None
    note: str | None


@dataclass(frozen=True, slots=True)
class RedactReport:
    """The findings: ``secrets`` in ``planned`` memories, by kind in ``kinds``.

    ``scanned`` counts the texts that were read, of memories and their versions; None if it is not known.
    A plan that is not ``complete`` ended at its limit of memories; another one finds the rest.
    ``remains`` says where what it replaced may still be quoted, and until when.
    """

    scanned: int | None
    complete: bool
    planned: int
    secrets: int
    kinds: Mapping[str, int]
    remains: str | None = None


@dataclass(frozen=True, slots=True)
class RedactPlan:
    """A stored plan. ``items`` may be one page of all ``report.planned`` memories, in their order."""

    id: int
    kind: Literal["redact"]
    state: PlanState
    created_at: datetime
    applied_at: datetime | None
    undone_at: datetime | None
    report: RedactReport
    items: tuple[RedactItem, ...]

    @classmethod
    def from_document(cls, document: Document) -> RedactPlan:
        """Converts the result of ``recall.get_plan``, as in ``pgrecall plan show --json``."""
        return read_document(cls, document)
