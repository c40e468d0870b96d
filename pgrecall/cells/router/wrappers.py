"""The declared functions of a cell, and their wrappers in the router.

A wrapper is the same function with the tenant as its first argument, which runs in a cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from psycopg.sql import SQL, Composed, Identifier, Literal

from pgrecall.cells.cell import Cell
from pgrecall.cells.router import STATEMENTS

SCHEMA = "recall_router"

_NOT_ADMITTED_YET = "admit_tenant"

_FIND_TENANT = {"find_grant": "r.tenant", "key_holder": "r.tenant", "page_session_tenant": "r"}
"""Functions that find a tenant, and where their result names it. A cell is believed about the tenant that the
call names, since the router found that cell; about others it may be outdated."""


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A function, as the catalogue describes it.

    Args:
        arguments: all arguments as in a declaration, with types and defaults.
        names: their names, in order.
        result: what it returns, as in a declaration.
        returns_rows: whether that is a set.
        columns: the names of the columns of a table; empty for anything else.
    """

    name: str
    least_role: str
    arguments: str
    names: tuple[str, ...]
    result: str
    returns_rows: bool
    columns: tuple[str, ...]


def declared_functions(cell: Cell) -> tuple[DeclaredFunction, ...]:
    """Every declared function of a cell, by name. Types outside of pg_catalog have their schema."""
    with cell.as_owner() as connection:
        connection.execute("SET LOCAL search_path = pg_catalog")
        rows = connection.execute(STATEMENTS["declared"].encode()).fetchall()
    return tuple(_declared(**row) for row in rows)


def _declared(*, names: list[str], columns: list[str], **rest: Any) -> DeclaredFunction:
    return DeclaredFunction(names=tuple(names), columns=tuple(columns), **rest)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A wrapper as the catalogue describes it, so that it can be compared with the existing one."""

    name: str
    least_role: str
    arguments: str
    result: str
    body: str

    def signature(self) -> tuple[str, str, str]:
        """Everything in the catalogue about it, for comparison."""
        return self.arguments, self.result, self.body

    def create(self) -> Composed:
        """The statement that creates it."""
        # Types and defaults in a declaration were written by Postgres.
        return SQL("CREATE FUNCTION {}.{}({}) RETURNS {} LANGUAGE plpgsql AS {}").format(
            Identifier(SCHEMA),
            Identifier(self.name),
            SQL(self.arguments),
            SQL(self.result),
            Literal(self.body),
        )


def wrappers_of(functions: Iterable[DeclaredFunction]) -> dict[str, Wrapper]:
    """The wrappers of these functions, by name."""
    return {function.name: wrapper_of(function) for function in functions}


def wrapper_of(function: DeclaredFunction) -> Wrapper:
    """The wrapper of a function.

    It calls by the names of arguments and asks for columns by theirs: a cell that was upgraded before the
    router, and has more of either, is still served.
    """
    return Wrapper(
        function.name,
        function.least_role,
        ", ".join(filter(None, ("p_tenant text", function.arguments))),
        function.result,
        f"BEGIN\n    PERFORM {SCHEMA}.enter($1{_admission(function)});\n    {_statement(function)};\nEND",
    )


def _admission(function: DeclaredFunction) -> str:
    return ", false" if function.name == _NOT_ADMITTED_YET else ""


def _statement(function: DeclaredFunction) -> str:
    given = ", ".join(f"{_quoted(name)} => ${place}" for place, name in enumerate(function.names, 2))
    call = f"recall.{_quoted(function.name)}({given})"
    if function.result == "void":
        return f"PERFORM {call}"
    if not function.returns_rows and function.name in _FIND_TENANT:
        return f"RETURN (SELECT r FROM {call} r WHERE {_FIND_TENANT[function.name]} = $1)"
    if not function.returns_rows:
        return f"RETURN {call}"
    columns = ", ".join(f"r.{_quoted(name)}" for name in function.columns)
    named = f" WHERE {_FIND_TENANT[function.name]} = $1" if function.name in _FIND_TENANT else ""
    return f"RETURN QUERY SELECT {columns or 'r'} FROM {call} r{named}"


def _quoted(name: str) -> str:
    return Identifier(name).as_string(None)
