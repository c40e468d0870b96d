"""What every operation is made of: the call as a value, its clock, and how it names a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pgrecall.encoding import require_text
from pgrecall.errors import MemoryNotFound

T = TypeVar("T")
Row = Mapping[str, Any]

NOW = "coalesce(%(now)s, now())"
"""The clock of a call: its parameter ``now``, or the database's clock where that is None."""


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """One call of one SQL function.

    ``repeatable`` says that running it twice does no harm, ``durable`` that its commit waits for the
    disk; what need not may be lost when the server crashes within the next second. ``acting`` says that the
    statement begins its transaction itself (:func:`acting`): none need precede it. ``binary`` asks for the
    answer as Postgres holds it, not as text: for many bytes.
    """

    sql: str
    parameters: Mapping[str, object]
    read: Callable[[Sequence[Row]], T]
    repeatable: bool = False
    durable: bool = True
    acting: bool = False
    binary: bool = False


def acting(argument: str, *, durable: bool = True) -> str:
    """The SQL of an argument whose evaluation makes its statement act for the parameter ``tenant``.

    A function's arguments are all known before it begins, so all that it does is done for that tenant.
    """
    begun = "set_config('recall.tenant', %(tenant)s, true) = %(tenant)s"
    if not durable:
        begun += " AND set_config('synchronous_commit', 'off', true) = 'off'"
    return f"CASE WHEN {begun} THEN {argument} END"


def id_of(value: int | str, parameter: str) -> str:
    """The SQL that gives the id of a memory named by id or key in a parameter."""
    if isinstance(value, str):
        require_text(value, "The key")
        return f"recall.id_of(%({parameter})s)"
    if not -(2**63) <= value < 2**63:
        raise MemoryNotFound(value)
    return f"%({parameter})s::bigint"
