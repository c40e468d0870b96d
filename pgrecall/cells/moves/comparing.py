"""Comparing the copy of a tenant with its source, mostly while writers continue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType

import psycopg
from psycopg import IsolationLevel
from psycopg.types.json import Jsonb

from pgrecall.cells.cell import Cell
from pgrecall.cells.directory import Connection
from pgrecall.cells.moves.changed_rows import ChangedRows, Snapshot
from pgrecall.cells.moves.copying import Copying
from pgrecall.cells.moves.log_messages import ChangedRow, Key
from pgrecall.database.error_translation import translated
from pgrecall.errors import DatabaseError
from pgrecall.schema.roles import act_as_owner

Digests = Mapping[str, tuple[int, int]]
"""For each table the number of a tenant's rows and their digest."""

NO_ROWS = (0, 0)
"""A table without rows of the tenant."""

FEW_ROWS = 500
"""Changed rows that are compared while writers wait; this takes some hundredths of a second."""

MAX_ROUNDS = 8
"""Rounds after which the writers are stopped even if more rows have changed."""


class CopyDiffers(DatabaseError):
    """A copy differs from its source."""


class Comparison:
    """The rows of a tenant at both ends of its copy.

    Entering it computes the digests of all rows at each end, in a snapshot that stays open, while writers go
    on. From then on a replication slot reports which rows change at the source. Each round takes a new
    snapshot at each end and corrects the digests by the changed rows. This is possible because a digest is a
    sum over rows: old rows are subtracted and new ones added. A round costs only as much as has changed since
    the last one, so the last round, for which writers wait, is short even for a large tenant.

    Two snapshots of an end differ only in rows that the slot reports. At the source, the slot is read after
    the newer snapshot, and changes that the snapshot does not see are kept for the next round. At the target,
    a snapshot is taken after everything is applied that the snapshot of the source sees, and before the slot
    is read. No function changes rows of a tenant in a cell where it does not live.

    Args:
        copying: the copy, complete and applying changes.
        timeout: seconds to wait for changes to arrive at the target.
        stop_timeout: the same while writers wait, and for running transactions at the start.
    """

    def __init__(self, copying: Copying, *, timeout: float, stop_timeout: float) -> None:
        self._copying = copying
        self._timeout = timeout
        self._stop_timeout = stop_timeout
        self._changes = ChangedRows(copying.source, copying.name, timeout=stop_timeout)
        self._unseen: list[ChangedRow] = []
        self._source = EndDigests(copying.source, copying.tenant)
        self._target = EndDigests(copying.target, copying.tenant)
        self._opened = ExitStack()

    @property
    def sessions(self) -> list[int]:
        """The processes of the source's server that hold its snapshots."""
        return self._source.sessions

    def __enter__(self) -> Comparison:
        with ExitStack() as opened:
            opened.enter_context(self._changes)
            for end in (self._source, self._target):
                opened.enter_context(end)
            self._source.take_snapshot()
            self._wait_for_target(self._timeout)
            self._target.take_snapshot()
            _run_concurrently(self._source.digest_all, self._target.digest_all)
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def converge(self) -> None:
        """Makes rounds until few rows change in one, which also prepares plans and cache for the last one."""
        for turn in range(MAX_ROUNDS):
            if self.run_round(self._timeout) <= FEW_ROWS and turn > 0:
                return

    def run_round(self, timeout: float) -> int:
        """One round; returns how many rows had changed since the last one."""
        self._source.take_snapshot()
        self._wait_for_target(timeout)
        self._target.take_snapshot()
        # After both snapshots, so that it reports everything that the target has applied.
        changed = [*self._unseen, *self._changes.read()]
        # Changes that the new snapshot does not see belong to the next round too.
        self._unseen = [row for row in changed if not self._source.sees(row.xid)]
        keys = keys_by_table(changed)
        _run_concurrently(lambda: self._source.update(keys), lambda: self._target.update(keys))
        return sum(map(len, keys.values()))

    def differences(self) -> list[str]:
        """The tables in which the ends differ. Nobody may write to them during the call."""
        self.run_round(self._stop_timeout)
        ours, theirs = self._source.digests, self._target.digests
        tables = ours.keys() | theirs.keys()
        return sorted(table for table in tables if ours.get(table, NO_ROWS) != theirs.get(table, NO_ROWS))

    def _wait_for_target(self, timeout: float) -> None:
        """Waits until the target has what the snapshot of the source sees."""
        self._copying.catch_up(timeout=timeout, to_the_end=True)


class EndDigests:
    """One end: a snapshot, and the digests of the rows in it.

    There are two connections, one for the current snapshot and one for the next.
    """

    def __init__(self, cell: Cell, tenant: str) -> None:
        self.digests: Digests = {}
        self._cell = cell
        self._tenant = tenant
        self._opened = ExitStack()
        self._connections: list[Connection] = []
        self._snapshot: Snapshot

    def __enter__(self) -> EndDigests:
        with ExitStack() as opened:
            self._connections = [opened.enter_context(self._cell.open()) for _ in range(2)]
            for connection in self._connections:
                connection.autocommit = False
                connection.isolation_level = IsolationLevel.REPEATABLE_READ
                connection.read_only = True
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    @property
    def sessions(self) -> list[int]:
        """The processes of the server."""
        return [connection.info.backend_pid for connection in self._connections]

    def take_snapshot(self) -> None:
        """Takes the next snapshot."""
        self._connections.reverse()
        [connection, _] = self._connections
        try:
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            act_as_owner(connection)
            row = connection.execute("SELECT pg_current_snapshot()::text AS seen").fetchone()
        except psycopg.Error as error:
            raise translated(error) from error
        assert row is not None
        self._snapshot = Snapshot.read(row["seen"])

    def sees(self, xid: int) -> bool:
        """Whether the snapshot sees the changes of a transaction that has committed by now."""
        return self._snapshot.sees(xid)

    def digest_all(self) -> None:
        """Reads all rows that the snapshot holds."""
        self.digests = self._query_digests(
            self._connections[0], "SELECT * FROM recall_private.tenant_digests(%s)", self._tenant
        )

    def update(self, keys: Mapping[str, Collection[Key]]) -> None:
        """Updates the digests from the previous snapshot to the current one, and ends the previous one.

        Args:
            keys: the keys of all rows in which they may differ.
        """
        [now, before] = self._connections
        if keys:
            query = "SELECT * FROM recall_private.keyed_digests(%s, %s)"
            asked = Jsonb({table: list(rows) for table, rows in keys.items()})
            come, gone = (self._query_digests(each, query, self._tenant, asked) for each in (now, before))
            changes = ((1, self.digests), (1, come), (-1, gone))

            def total(table: str, part: int) -> int:
                return sum(sign * digests.get(table, NO_ROWS)[part] for sign, digests in changes)

            tables = self.digests.keys() | come.keys()
            self.digests = {table: (total(table, 0), total(table, 1)) for table in tables}
        before.rollback()

    def _query_digests(self, connection: Connection, query: str, *values: object) -> Digests:
        try:
            rows = connection.execute(query.encode(), values).fetchall()
        except psycopg.Error as error:
            raise translated(error) from error
        return {row["relation"]: (row["held"], int(row["digest"])) for row in rows}


def keys_by_table(changed: Iterable[ChangedRow]) -> dict[str, Collection[Key]]:
    """The keys of these rows, each once."""
    found: dict[str, dict[tuple[str, ...], Key]] = {}
    for row in changed:
        found.setdefault(row.table, {})[tuple(row.key.values())] = row.key
    return {table: keys.values() for table, keys in found.items()}


def _run_concurrently(*actions: Callable[[], None]) -> None:
    with ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(action) for action in actions]:
            done.result()
