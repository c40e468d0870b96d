"""Erasures of a subject's memories, converted from the document that ``recall.get_erasure`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pgrecall.nouns.conversion import read_document

ErasureState = Literal["planned", "begun", "done"]
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """The memories to delete: those that match every given field.

    Attributes:
        author: the author, ignoring case.
        session: the session id.
        tag: a tag, ignoring case.
        source: the source.
        key: the key; ``*`` stands for any characters.
    """

    author: str | None = None
    session: str | None = None
    tag: str | None = None
    source: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ErasureSample:
    """A memory that an erasure would delete. ``title`` is the start of the body if it has none."""

    id: int
    key: str | None
    layer: str
    author: str | None
    title: str


@dataclass(frozen=True, slots=True)
class VisitedTable:
    """A table or partition that was searched: the numbers of rows deleted and left, and its indexes."""

    table: str
    rows: int
    left: int
    indexes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemainingCopy:
    """A place outside the tables that may still contain texts, and until when."""

    place: str
    what: str
    until: str


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """The report of a completed erasure.

    ``subject`` has the digest of each text. ``arrived_since`` counts memories of the subject that were stored
    after the plan; another erasure deletes them. ``role`` is the login role that finished it.
    """

    erasure: int
    tenant: str
    subject: Subject
    asked_by: str
    planned_at: datetime
    planned: int
    signed_by: str
    role: str
    done_at: datetime
    memories: int
    arrived_since: int
    tables: tuple[VisitedTable, ...]
    remains: tuple[RemainingCopy, ...]


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure: planned, begun (some memories are deleted), or done.

    ``planned`` memories belonged to the subject when it was planned, ``remaining`` of them are still there.
    ``counts`` has the rows about them by table: found for a plan, deleted otherwise. ``digest`` is the
    SHA-256 digest of the stored report, and ``intact`` says whether the report still has it.
    """

    id: int
    state: ErasureState
    subject: Subject
    asked_by: str
    created_at: datetime
    planned: int
    remaining: int
    counts: Mapping[str, int]
    sample: tuple[ErasureSample, ...]
    report: ErasureReport | None
    digest: str | None
    intact: bool | None

    @classmethod
    def from_document(cls, document: Document) -> Erasure:
        """Converts the result of ``recall.get_erasure``."""
        return read_document(cls, document)


@dataclass(frozen=True, slots=True)
class ErasureSummary:
    """A row of the list of erasures."""

    id: int
    state: ErasureState
    subject: Subject
    asked_by: str
    created_at: datetime
    planned: int
    remaining: int
    digest: str | None
