"""Erasures: what is deleted for good of a subject, converted from the document of ``recall.get_erasure``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pgrecall.models.reading import read_document

ErasureState = Literal["planned", "begun", "done"]
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose memories are deleted: those to which all given fields apply.

    Attributes:
        author: the author, without regard to case.
        session: the session id.
        tag: a tag, without regard to case.
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
    """A table or partition in which rows were looked for: how many were deleted and left, and its indexes."""

    table: str
    rows: int
    left: int
    indexes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemainingCopy:
    """A place outside of the tables where texts may still be, and until when."""

    place: str
    what: str
    until: str


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """The report of an erasure that is done.

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
    ``counts`` has the rows about them by table: of a plan those found, else those deleted. ``digest`` is the
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
