"""Which failed operations may be tried again, and what to say of those that may have been done."""

from __future__ import annotations

from typing import Any

from pgrecall.errors import DatabaseError, DatabaseUnavailable, SchemaMismatch
from pgrecall.operations.operation import Operation

ROLLED_BACK = ("40P01", "40001")
"""SQLSTATEs of a deadlock and of a failed serialization: nothing was done, and a retry may succeed."""


def may_repeat(error: DatabaseError, operation: Operation[Any]) -> bool:
    """Whether another attempt may succeed and cannot do anything twice."""
    if error.sqlstate in ROLLED_BACK:
        return True
    if isinstance(error, SchemaMismatch) and error.replaced:  # by an upgrade: the new functions are there now
        return True
    return operation.repeatable and was_lost(error)


def was_lost(error: DatabaseError) -> bool:
    """Whether the connection broke during the call."""
    return isinstance(error, DatabaseUnavailable) and error.lost


def in_doubt(error: DatabaseError) -> DatabaseUnavailable:
    """The error of a call that may have been done before its connection broke."""
    return DatabaseUnavailable(
        error.message,
        hint="It may have been done or not: look, or repeat it, which does no harm where it has a key or an "
        "idempotency key.",
        sqlstate=error.sqlstate,
        lost=True,
    )
