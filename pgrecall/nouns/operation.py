"""``Operation``: a database call as a value; its clock, references to memories, and retries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pgrecall.encoding import MAX_ID, MAX_INTEGER, require_text
from pgrecall.errors import (
    DatabaseError,
    DatabaseUnavailable,
    InvalidInput,
    MemoryNotFound,
    SchemaMismatch,
)
from pgrecall.nouns.conversion import read_as

T = TypeVar("T")
Row = Mapping[str, Any]

NOW = "coalesce(%(now)s, now())"
"""The time of a call: its parameter ``now``, or the database's clock if that is None."""

ROLLED_BACK = ("40P01", "40001")
"""SQLSTATEs of a deadlock and a serialization failure: nothing was changed, and a retry may succeed."""


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """One call of one SQL function.

    Attributes:
        sql: the statement.
        parameters: its parameters by name.
        read: converts its rows.
        repeatable: whether running it twice does no harm.
        durable: whether its commit waits for the disk; otherwise a crash of the server within the next second
            may lose it.
        acting: whether the statement sets its tenant itself (:func:`acting`), so that none precedes it.
        reads: whether it changes nothing, so that a replica can answer it.
    """

    sql: str
    parameters: Mapping[str, object]
    read: Callable[[Sequence[Row]], T]
    repeatable: bool = False
    durable: bool = True
    acting: bool = False
    reads: bool = False


def read_value(rows: Sequence[Row]) -> Any:
    """Reads the one value of the one row."""
    (value,) = rows[0].values()
    return value


def read_bool(rows: Sequence[Row]) -> bool:
    """Reads the one value of the one row as whether something is so."""
    return bool(read_value(rows))


def read_int(rows: Sequence[Row]) -> int:
    """Reads the one value of the one row as a number."""
    return int(read_value(rows))


def read_str(rows: Sequence[Row]) -> str:
    """Reads the one value of the one row as a text."""
    return str(read_value(rows))


def rows_of(function: str, kind: type[T], /, **arguments: object) -> Operation[tuple[T, ...]]:
    """A call that changes nothing, of which the columns are the fields of ``kind``."""
    for name, value in arguments.items():
        if isinstance(value, str):
            require_text(value, f"The {name} {value!r:.60}")
    given = ", ".join(f"p_{name} => %({name})s" for name in arguments)
    return Operation(
        f"SELECT * FROM recall.{function}({given})",
        arguments,
        lambda rows: tuple(read_as(kind, row) for row in rows),
        repeatable=True,
    )


def acting(argument: str, *, durable: bool = True) -> str:
    """Wraps the SQL of an argument so that evaluating it sets the tenant to the parameter ``tenant``.

    Postgres evaluates all arguments before it calls a function, so the whole function runs for that tenant.
    """
    begun = (
        "set_config('recall.tenant', %(tenant)s, true) = %(tenant)s "
        "AND set_config('extra_float_digits', '1', true) = '1'"  # numbers come as they are, not rounded
    )
    if not durable:
        begun += " AND set_config('synchronous_commit', 'off', true) = 'off'"
    return f"CASE WHEN {begun} THEN {argument} END"


def id_of(value: int | str, parameter: str) -> str:
    """Returns SQL for the id of a memory, given a parameter with its id or key."""
    if isinstance(value, str):
        require_text(value, "The key")
        return f"recall.id_of(%({parameter})s)"
    if abs(value) > MAX_ID:
        raise MemoryNotFound(value)
    return f"%({parameter})s::bigint"


def checked_limit(limit: int, maximum: str) -> int:
    """Returns the limit of a list; SQL refuses those above ``maximum``, but cannot receive every integer."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not -MAX_INTEGER <= limit <= MAX_INTEGER:
        raise InvalidInput(f"The limit is {limit!r:.50}; it must lie between 1 and {maximum}.")
    return limit


def may_repeat(error: DatabaseError, operation: Operation[Any]) -> bool:
    """Returns whether a retry may succeed and cannot do anything twice."""
    if error.sqlstate in ROLLED_BACK:
        return True
    if isinstance(error, SchemaMismatch) and error.replaced:  # by an upgrade; the new functions exist now
        return True
    return operation.repeatable and was_lost(error)


def was_lost(error: DatabaseError) -> bool:
    """Returns whether the connection broke during the call."""
    return isinstance(error, DatabaseUnavailable) and error.lost


def in_doubt(error: DatabaseError) -> DatabaseUnavailable:
    """Returns the error for a call that may have completed before its connection broke."""
    return DatabaseUnavailable(
        error.message,
        hint="It may or may not have completed: check, or repeat it, which is safe with a key or an "
        "idempotency key.",
        sqlstate=error.sqlstate,
        lost=True,
    )
