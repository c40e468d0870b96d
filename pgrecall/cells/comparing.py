"""Comparing the copy of a tenant with what was copied, without making its writers wait for all of it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import psycopg
from psycopg import IsolationLevel

from pgrecall.cells.cell import Cell
from pgrecall.database.error_translation import translated
from pgrecall.database.server import Row
from pgrecall.schema.roles import act_as_owner

Digests = Mapping[str, tuple[int, int]]
"""For each table the number of a tenant's rows and their digest."""


class Comparison:
    """The rows of a tenant at both ends of its copy.

    When it is entered, all rows are summed up at each end, in a snapshot that stays open; writers go on.
    :meth:`differences` then sums up only what has changed since, and is exact all the same: a digest is a
    sum over rows, from which those that are no more can be taken, and to which new ones can be added.

    Args:
        source, target: the cells.
        tenant: the tenant.
    """

    def __init__(self, source: Cell, target: Cell, tenant: str) -> None:
        self._ends = (_End(source, tenant), _End(target, tenant))
        self._opened = ExitStack()

    @property
    def session(self) -> int:
        """The process of the source's server that holds the snapshot there."""
        return self._ends[0].session

    def __enter__(self) -> Comparison:
        with ExitStack() as opened:
            for end in self._ends:
                opened.callback(end.close)
            _at_once(self._ends, _End.open)
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def rehearse(self) -> None:
        """Asks what :meth:`differences` asks: the first time, sessions have to plan and to read."""
        _at_once(self._ends, _End.digests_of_now)

    def differences(self) -> list[str]:
        """The tables in which both ends differ now. Nobody may write to them meanwhile."""
        differing = _differing(*_at_once(self._ends, _End.digests_of_now))
        # Counts taken at different moments can differ without a reason. A locked comparison decides.
        return _differing(*_at_once(self._ends, _End.all_digests)) if differing else []


class _End:
    """One end: a snapshot, and what it held."""

    def __init__(self, cell: Cell, tenant: str) -> None:
        self._cell = cell
        self._tenant = tenant
        self._opened = ExitStack()
        self.session = 0

    def open(self) -> None:
        """Takes the snapshot, and sums up what it holds."""
        connection = self._opened.enter_context(self._cell.plain())
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        self._opened.enter_context(connection.transaction())
        self._snapshot = connection
        connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        act_as_owner(connection)
        row = connection.execute(_SINCE).fetchone()
        assert row is not None
        self.session = row["session"]
        self._since = {name: row[name] for name in ("xid", "multi")}
        self._before = self._ask(connection, _ALL)

    def close(self) -> None:
        self._opened.close()

    def digests_of_now(self) -> Digests:
        """The digests of the snapshot, minus the replaced rows, plus the new ones."""
        gone = self._ask(self._snapshot, _CHANGED)
        with self._cell.owned() as connection:
            come = self._ask(connection, _CHANGED)
        none = (0, 0)
        return {
            table: (
                self._before.get(table, none)[0] - gone.get(table, none)[0] + come.get(table, none)[0],
                self._before.get(table, none)[1] - gone.get(table, none)[1] + come.get(table, none)[1],
            )
            for table in self._before.keys() | come.keys()
        }

    def all_digests(self) -> Digests:
        with self._cell.owned() as connection:
            return self._ask(connection, _ALL)

    def _ask(self, connection: psycopg.Connection[Row], query: str) -> Digests:
        try:
            rows = connection.execute(query.encode(), {"tenant": self._tenant, **self._since}).fetchall()
        except psycopg.Error as error:
            raise translated(error) from error
        return {row["relation"]: (row["held"], int(row["digest"])) for row in rows}


def _at_once(ends: tuple[_End, _End], action: Any) -> list[Any]:
    with ThreadPoolExecutor(2) as both:
        return list(both.map(action, ends))


def _differing(ours: Digests, theirs: Digests) -> list[str]:
    return sorted(table for table in ours.keys() | theirs.keys() if ours.get(table) != theirs.get(table))


_ALL = "SELECT * FROM recall.tenant_digests(%(tenant)s)"
_CHANGED = "SELECT * FROM recall.changed_digests(%(tenant)s, %(xid)s::xid, %(multi)s::xid)"
# The next group of transactions has no function; its distance from the first one has.
_SINCE = (
    "SELECT pg_backend_pid() AS session, pg_snapshot_xmin(pg_current_snapshot())::xid::text AS xid, "
    "(mxid_age('1'::xid) + 1)::text AS multi"
)
