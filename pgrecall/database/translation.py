"""psycopg's errors made ours: they leave this package only as :mod:`pgrecall.errors`."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
import psycopg.errors

from pgrecall.errors import (
    DatabaseError,
    DatabaseUnavailable,
    DatabaseUnsuitable,
    EmbedderMismatch,
    InvalidInput,
    MemoryNotFound,
    RecallError,
    SchemaMismatch,
)

_LOST = ("08", "57P")
"""SQLSTATE classes of a lost connection: connection exceptions, and a server shutting down."""


def translated(error: psycopg.Error) -> RecallError:
    """The pgrecall error that says what a psycopg error means."""
    diagnostic = error.diag
    message = diagnostic.message_primary or first_line(error)
    hint = diagnostic.message_hint or ""
    match error:
        case psycopg.errors.NoDataFound():
            return _not_found(diagnostic)
        case psycopg.errors.InvalidParameterValue() if diagnostic.constraint_name == "embedder_mismatch":
            return EmbedderMismatch(message, hint=hint)
        case psycopg.errors.InvalidSchemaName() | psycopg.errors.UndefinedFunction():
            return SchemaMismatch(
                "This database is not initialised for this version of pgrecall.",
                hint="Run `pgrecall init` (new database) or `pgrecall upgrade`.",
                sqlstate=error.sqlstate,
            )
        case psycopg.errors.UndefinedTable():
            return SchemaMismatch(message, hint="Run `pgrecall upgrade`.", sqlstate=error.sqlstate)
        case psycopg.errors.InsufficientPrivilege():
            return DatabaseUnsuitable(
                sentence(message) if hint else f"Postgres refused: {sentence(message)}",
                hint=hint
                or "An administrator runs: GRANT recall_app TO this role (recall_worker for jobs); "
                "`pgrecall doctor` says more.",
                sqlstate=error.sqlstate,
            )
        case psycopg.DataError() | psycopg.IntegrityError():
            return InvalidInput(sentence(message), hint=hint)
        case psycopg.errors.ProgramLimitExceeded():
            return InvalidInput(sentence(message), hint=hint)
        case psycopg.OperationalError() if error.sqlstate and not error.sqlstate.startswith(_LOST):
            return DatabaseError(sentence(message), hint=hint or "Try again.", sqlstate=error.sqlstate)
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return DatabaseUnavailable(
                f"The connection to Postgres failed: {message}",
                hint=hint or "Try again.",
                sqlstate=error.sqlstate,
                lost=True,
            )
        case _:
            return DatabaseError(sentence(message), hint=hint, sqlstate=error.sqlstate)


def _not_found(diagnostic: psycopg.errors.Diagnostic) -> RecallError:
    reference = diagnostic.message_detail
    if not reference:
        return InvalidInput(diagnostic.message_primary or "There is no such memory.")
    return MemoryNotFound(int(reference) if diagnostic.column_name == "id" else reference)


def first_line(error: psycopg.Error) -> str:
    """What an error says, without what follows it."""
    lines: Sequence[str] = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0]


def sentence(message: str) -> str:
    """A message with a full stop."""
    return message if message.endswith((".", "!", "?")) else f"{message}."
