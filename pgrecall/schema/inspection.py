"""Checks of a database that change nothing, whether or not it holds pgrecall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from pgrecall.database.connections import connect
from pgrecall.database.server import ServerFacts, server_facts
from pgrecall.schema.ownership import AccessProblem, access_problems


@dataclass(frozen=True, slots=True)
class Examination:
    """A server, and the rights of this role in one of its databases.

    ``unaccent`` is ``installed``, ``offered`` or None. ``owned`` says whether the role may upgrade the
    schema, ``usable`` whether it may use memories; both are None without a schema.
    """

    facts: ServerFacts
    unaccent: str | None
    owned: bool | None
    usable: bool | None


def rights(url: str, *, timeout: float = 10.0) -> Sequence[AccessProblem]:
    """Differences of roles, rights and row security from what is declared, in a schema of this version.

    Raises:
        DatabaseUnavailable: it cannot be reached.
    """
    with connect(url, timeout=timeout) as connection:
        return access_problems(connection)


def examine(url: str, *, timeout: float = 10.0) -> Examination:
    """Inspects a database.

    Raises:
        DatabaseUnavailable: it cannot be reached, or the URL cannot be read.
    """
    query = (files(__package__) / "inspection.sql").read_bytes()
    with connect(url, timeout=timeout) as connection:
        row = connection.execute(query).fetchone()
        assert row is not None
        return Examination(server_facts(connection), **row)
