"""Translates psycopg's errors to :mod:`pgrecall.errors`."""

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
    TenantElsewhere,
)

_LOST = ("08", "57P")
"""SQLSTATE classes of a lost connection: connection exceptions, and a server shutting down."""


_BROKEN_OFF = {
    "25P03": (
        "Postgres ended a transaction that waited for its client",
        "Try again, or raise idle_in_transaction_session_timeout for this role.",
    ),
    "25P04": (
        "Postgres ended a transaction that took too long",
        "Try again, or raise transaction_timeout for this role.",
    ),
    "40001": ("Another call changed the same rows at the same time", "Try again."),
    "40P01": ("Two calls waited for each other, and Postgres ended this one", "Try again."),
    "53100": ("The disk of Postgres is full", "Free some space; reading still works."),
    "53400": ("The call needs more than the server allows", "Raise that limit, or make smaller calls."),
    "55P03": (
        "Another call holds a lock that this one needs",
        "Try again, or raise lock_timeout for this role.",
    ),
    "57014": ("Postgres cancelled the call", "Try again, or raise statement_timeout for this role."),
}
"""What happened, and the way out, by the SQLSTATE of a transaction that was rolled back."""


TENANT_ELSEWHERE = "RC001"
"""SQLSTATE of ``recall_private.require_resident``."""

READ_ONLY = "25006"
"""SQLSTATE of a change in a transaction that may only read."""

_MIXED_UP = ("26000", "42P05")
"""SQLSTATEs of a prepared statement that is missing or exists already."""

_OF_NO_ROW = ("08", "25", "40", "53", "55", "57", "58")
"""SQLSTATE classes of connections, transactions, locks and servers, whose messages quote no row."""

_RAISE = "exec_stmt_raise"
"""The function of the server that raises the sentences of our SQL functions."""

_PROTOCOL = "08P01"
"""SQLSTATE of, among others, a prepared statement that has other parameters."""


def translated(error: psycopg.Error) -> RecallError:
    """Returns the pgrecall error for a psycopg error."""
    message = error.diag.message_primary or first_line(error)
    if error.sqlstate in _MIXED_UP or (error.sqlstate == _PROTOCOL and _binds(error)):
        return DatabaseError(
            f"A connection pooler mixed up prepared statements; nothing was changed: {sentence(message)}",
            hint="Set PGRECALL_PREPARED_STATEMENTS=off, or let the pooler track them.",
            sqlstate=error.sqlstate,
        )
    if error.sqlstate == TENANT_ELSEWHERE:
        return TenantElsewhere(sentence(message), hint=error.diag.message_hint or "", sqlstate=error.sqlstate)
    if error.sqlstate == READ_ONLY:
        return DatabaseError(
            f"This is read-only now; nothing was changed: {sentence(message)}",
            hint="Try again in a moment: a tenant is read-only while it moves to another cell. On a "
            "standby, use the primary instead; else see whether default_transaction_read_only is on.",
            sqlstate=error.sqlstate,
        )
    if error.sqlstate in _BROKEN_OFF:
        what, way_out = _BROKEN_OFF[error.sqlstate]
        said = f"{what}; nothing was changed: {sentence(message)}"
        return DatabaseError(said, hint=way_out, sqlstate=error.sqlstate)
    return _by_class(error)


def _binds(error: psycopg.Error) -> bool:
    """Whether parameters did not fit a prepared statement; the server may say so in any language."""
    from_server = error.diag.source_function == "exec_bind_message"
    return from_server or "prepared statement" in (error.diag.message_primary or "")


def _by_class(error: psycopg.Error) -> RecallError:
    diagnostic = error.diag
    message = diagnostic.message_primary or first_line(error)
    hint = diagnostic.message_hint or ""
    match error:
        case psycopg.errors.NoDataFound():
            return _not_found(diagnostic)
        case psycopg.errors.InvalidParameterValue() if diagnostic.constraint_name == "embedder_mismatch":
            return EmbedderMismatch(message, hint=hint)
        case (
            psycopg.errors.InvalidSchemaName()
            | psycopg.errors.UndefinedFunction()
            | psycopg.errors.InternalError_()
        ):
            return _not_there(error, message)
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
                f"The connection to Postgres failed: {sentence(message)}",
                hint=hint or "Try again.",
                sqlstate=error.sqlstate,
                lost=True,
            )
        case _:
            return DatabaseError(sentence(message), hint=hint, sqlstate=error.sqlstate)


def _not_there(error: psycopg.Error, message: str) -> DatabaseError:
    """Returns the error for a missing function, which never existed or was dropped during the call."""
    gone = message.startswith("cache lookup failed for function")
    if isinstance(error, psycopg.errors.InternalError_) and not gone:
        return DatabaseError(sentence(message), sqlstate=error.sqlstate)
    if gone or error.diag.context:
        return SchemaMismatch(
            "An upgrade replaced the functions of this database during the call; nothing was changed.",
            hint="Call again; if that does not help, upgrade pgrecall.",
            sqlstate=error.sqlstate,
            replaced=True,
        )
    return SchemaMismatch(
        "This database is not initialised for this version of pgrecall.",
        hint="Run `pgrecall init` (new database) or `pgrecall upgrade`.",
        sqlstate=error.sqlstate,
    )


def _not_found(diagnostic: psycopg.errors.Diagnostic) -> RecallError:
    reference = diagnostic.message_detail
    if not reference:
        return InvalidInput(diagnostic.message_primary or "There is no such memory.")
    return MemoryNotFound(int(reference) if diagnostic.column_name == "id" else reference)


def without_values(error: RecallError) -> str:
    """The message of an error, for readers who may not read memories.

    A message of Postgres itself may quote a row. Of such an error it is the class and the SQLSTATE.
    """
    cause = error.__cause__
    if not isinstance(cause, psycopg.Error) or not cause.sqlstate or cause.sqlstate.startswith(_OF_NO_ROW):
        return error.message
    if isinstance(error, SchemaMismatch | DatabaseUnsuitable) or cause.diag.source_function == _RAISE:
        return error.message
    return f"Postgres refused a step: {type(cause).__name__} (SQLSTATE {cause.sqlstate})."


def first_line(error: psycopg.Error) -> str:
    """Returns the first line of an error message."""
    lines: Sequence[str] = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0]


def sentence(message: str) -> str:
    """Ends a message with a full stop."""
    return message if message.endswith((".", "!", "?")) else f"{message}."
