"""The rows of a tenant that change at the source of its move, and the changes that a snapshot sees."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import TracebackType

import psycopg

from pgrecall.cells.cell import Cell
from pgrecall.cells.directory import Connection
from pgrecall.cells.moves.log_messages import ChangedRow, changed_rows
from pgrecall.database.error_translation import translated
from pgrecall.errors import DatabaseError


class ChangedRows:
    """The rows that a publication publishes, from the time when this context is entered.

    The replication slot is temporary: it ends with its session, so that a crash leaves nothing behind. It
    is dropped at the end, because a session outlives its client for a moment, and the next attempt of a move
    makes a slot of the same name.

    Args:
        cell: the source.
        publication: the name of the publication.
        timeout: seconds to wait for running transactions, which have to end first.
    """

    def __init__(self, cell: Cell, publication: str, *, timeout: float) -> None:
        self._cell = cell
        self._names = (f"{publication}_compared", publication)
        self._timeout = timeout
        self._opened = ExitStack()
        self._connection: Connection

    def __enter__(self) -> ChangedRows:
        with ExitStack() as opened:
            self._connection = opened.enter_context(self._cell.open())
            create_slot(self._connection, self._names[0], timeout=self._timeout, temporary=True)
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._opened, suppress(psycopg.Error):  # of a lost session, which has no slot either
            self._connection.execute(_DROP, self._names[:1])

    def read(self) -> list[ChangedRow]:
        """The rows changed by transactions whose commits have reached the disk since the last call."""
        try:
            rows = self._connection.execute(_READ, self._names).fetchall()
        except psycopg.Error as error:
            raise translated(error) from error
        return list(changed_rows((int(row["xid"]), row["data"]) for row in rows))


def create_slot(connection: Connection, name: str, *, timeout: float, temporary: bool) -> None:
    """Creates a replication slot, once every transaction of the server that is running now has ended.

    Raises:
        DatabaseError: one took longer than so many seconds, or the server refuses.
    """
    try:
        connection.execute(f"SET lock_timeout = {round(timeout * 1000)}".encode())
        connection.execute(_CREATE, (name, temporary))
    except psycopg.errors.LockNotAvailable as error:
        raise DatabaseError(
            f"Transactions on this server have run for more than {timeout:g} s.",
            hint="Try again when they have ended; see pg_stat_activity and pg_prepared_xacts.",
            sqlstate=error.sqlstate,
        ) from error
    except psycopg.Error as error:
        raise translated(error) from error


_CREATE = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput', %s)"
_DROP = "SELECT pg_drop_replication_slot(%s)"
_READ = (
    "SELECT xid::text AS xid, data FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL, "
    "'proto_version', '1', 'publication_names', %s)"
)


_EPOCH = 2**32
"""Transaction ids in the log have 32 bits and begin again after the last one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The first transaction that had not begun when a snapshot was taken, and those that were running."""

    following: int
    running: frozenset[int]

    @classmethod
    def read(cls, text: str) -> Snapshot:
        """From ``xmin:xmax:xip,xip``, the text of ``pg_current_snapshot()``."""
        _, following, running = text.split(":")
        return cls(int(following) % _EPOCH, frozenset(int(xid) % _EPOCH for xid in running.split(",") if xid))

    def sees(self, xid: int) -> bool:
        """Whether it sees the changes of a transaction that has been committed since.

        Args:
            xid: its id of 32 bits, at most two thousand million away from the snapshot.
        """
        begun_before = (xid - self.following) % _EPOCH >= _EPOCH // 2
        return begun_before and xid not in self.running
