"""The positions of a primary and its standby in the log, and whether they belong to one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgrecall.database.server import Row


@dataclass(frozen=True, slots=True)
class Server:
    """A position in the log of a cluster, in bytes (None if the server has none), and the cluster.

    ``system`` is the identifier that a standby shares with its primary; ``database`` the name of the
    database. Each promotion begins a ``timeline``, on which positions of the former one mean nothing. A
    standby names the one of its last restartpoint, so for some minutes that may be the former.
    """

    position: int | None
    system: int
    database: str
    timeline: int | None

    def is_same_database(self, other: Server) -> bool:
        """Whether both are the same database of the same cluster."""
        return (self.system, self.database) == (other.system, other.database)

    def has_log_of(self, other: Server) -> bool:
        """Whether positions of both are comparable."""
        return self.is_same_database(other) and self.timeline == other.timeline


def server_of(rows: Sequence[Row]) -> Server:
    """Reads the result of PRIMARY or REPLICA."""
    [row] = rows
    return server_in(row)


def server_in(row: Row) -> Server:
    """Reads the columns of a server in a row, which may have others."""
    return Server(row["position"], row["system"], row["database"], row["timeline"])


_FROM = "(SELECT system_identifier FROM pg_control_system()) AS system, current_database()::text AS database"

_PRIMARY_TIMELINE = (
    "CASE WHEN NOT pg_is_in_recovery() "
    "THEN ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer END AS timeline"
)

# At the beginning of a page the position includes the page's header, which is not replayed. The
# header is 40 bytes long in the first page of a file, and 24 in others; no record is so short.
# Beyond what is on disk there may be records of reads and of failed transactions, which a quiet server writes
# and sends many seconds later. Only commits that wait for no disk may be among them.
PRIMARY = (
    "SELECT CASE WHEN mod(p.at, p.segment) = 40 THEN p.at - 40 "
    f"WHEN mod(p.at, p.block) = 24 THEN p.at - 24 ELSE p.at END AS position, {_FROM}, {_PRIMARY_TIMELINE} "
    "FROM (SELECT CASE WHEN pg_is_in_recovery() THEN NULL "
    "WHEN current_setting('synchronous_commit') = 'off' THEN pg_current_wal_insert_lsn() - '0/0'::pg_lsn "
    "ELSE pg_current_wal_flush_lsn() - '0/0'::pg_lsn END::bigint AS at, "
    "pg_size_bytes(current_setting('wal_segment_size')) AS segment, "
    "current_setting('wal_block_size')::bigint AS block) p"
)
"""Asks a primary where its log ends; everything committed lies before. A standby has no answer."""

REPLICA_COLUMNS = (
    "CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint END "
    f"AS position, {_FROM}, (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline"
)
"""How much of its primary's log a standby has replayed, in bytes, null for a server that is none; and whose
log that is."""

REPLICA = f"SELECT {REPLICA_COLUMNS}"
"""Asks a standby how much of its primary's log it has replayed; a primary has no answer."""
