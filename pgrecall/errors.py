"""Every error pgrecall raises, as one tree.

    RecallError
    ├── InvalidInput            the caller's value cannot be used (CLI exit code 2)
    │   ├── MemoryNotFound      no memory with this id or key in this tenant
    │   └── EmbedderMismatch    vectors of one model offered to a database built for another
    ├── DatabaseError           Postgres refused or failed (CLI exit code 3)
    │   ├── DatabaseUnavailable     no connection, or it broke
    │   │   └── DatabaseBusy            every connection a client may hold was in use
    │   ├── DatabaseTimeout         Postgres took longer than the client's timeout
    │   ├── DatabaseUnsuitable      a version, an extension or a right is missing
    │   └── SchemaMismatch          not initialised, too old, or newer than this pgrecall
    ├── EmbedderError           the embedder failed or returned something that is not vectors
    ├── RerankerError           the reranker failed or returned something that is not scores
    └── MissingExtra            an optional dependency is not installed

Each error carries the values it speaks of as attributes, and ``hint``: the way out, one sentence.
"""

from __future__ import annotations


class RecallError(Exception):
    """Root of the tree. ``str(error)`` is the sentence and, when there is one, the way out."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InvalidInput(RecallError):
    """A value the caller gave cannot be used; nothing was changed."""


class MemoryNotFound(InvalidInput):
    """No such memory in this tenant."""

    def __init__(self, reference: int | str) -> None:
        kind = "id" if isinstance(reference, int) else "key"
        super().__init__(
            f"There is no memory with {kind} {reference!r} in this tenant.",
            hint="Search for some of its words: hits name their id and key.",
        )
        self.reference = reference


class EmbedderMismatch(InvalidInput):
    """The embedder is not the one this database was filled with."""


class DatabaseError(RecallError):
    """Postgres refused a statement or failed while running it."""

    def __init__(self, message: str, *, hint: str = "", sqlstate: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.sqlstate = sqlstate


class DatabaseUnavailable(DatabaseError):
    """No connection could be made, or it broke while in use: then it was ``lost``."""

    def __init__(
        self, message: str, *, hint: str = "", sqlstate: str | None = None, lost: bool = False
    ) -> None:
        super().__init__(message, hint=hint, sqlstate=sqlstate)
        self.lost = lost


class DatabaseBusy(DatabaseUnavailable):
    """Every connection that a client may hold was in use for too long."""


class DatabaseTimeout(DatabaseError):
    """Postgres took longer for a call than the client's timeout; the call was broken off."""


class DatabaseUnsuitable(DatabaseError):
    """The server lacks a version, an extension or a right that pgrecall needs."""


class SchemaMismatch(DatabaseError):
    """The schema is absent, older than this pgrecall, or newer; or it was ``replaced`` under a call."""

    def __init__(
        self, message: str, *, hint: str = "", sqlstate: str | None = None, replaced: bool = False
    ) -> None:
        super().__init__(message, hint=hint, sqlstate=sqlstate)
        self.replaced = replaced


class EmbedderError(RecallError):
    """The embedder failed, timed out, or returned something that is not vectors."""


class RerankerError(RecallError):
    """The reranker failed, is not on this machine, or returned something that is not scores."""


class MissingExtra(RecallError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package} is not installed.", hint=f"Install it with: pip install 'pgrecall[{extra}]'"
        )
        self.package = package
        self.extra = extra
