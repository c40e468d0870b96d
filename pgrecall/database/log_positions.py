"""The positions of a primary and its standby in the log, and whether they belong to one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pgrecall.database.server import Row
from pgrecall.database.statements import REPLAYED


@dataclass(frozen=True, slots=True)
class Server:
    """A position in the log of a cluster, in bytes (None if the server has none), and the cluster.

    ``system`` is the identifier that a standby shares with its primary; ``database`` the name of the
    database.
    """

    position: int | None
    system: int
    database: str

    def is_same_database(self, other: Server) -> bool:
        """Whether both are the same database of the same cluster."""
        return (self.system, self.database) == (other.system, other.database)


def server_of(rows: Sequence[Row]) -> Server:
    """Reads the result of PRIMARY or REPLICA."""
    [row] = rows
    return Server(row["position"], row["system"], row["database"])


_FROM = "(SELECT system_identifier FROM pg_control_system()) AS system, current_database()::text AS database"

# At the beginning of a page the position includes the page's header, which is not replayed. The
# header is 40 bytes long in the first page of a file, and 24 in others; no record is so short.
# Beyond what is on disk there may be records of reads and of failed transactions, which a quiet server writes
# and sends many seconds later. Only commits that wait for no disk may be among them.
PRIMARY = (
    "SELECT CASE WHEN mod(p.at, p.segment) = 40 THEN p.at - 40 "
    f"WHEN mod(p.at, p.block) = 24 THEN p.at - 24 ELSE p.at END AS position, {_FROM} "
    "FROM (SELECT CASE WHEN pg_is_in_recovery() THEN NULL "
    "WHEN current_setting('synchronous_commit') = 'off' THEN pg_current_wal_insert_lsn() - '0/0'::pg_lsn "
    "ELSE pg_current_wal_flush_lsn() - '0/0'::pg_lsn END::bigint AS at, "
    "pg_size_bytes(current_setting('wal_segment_size')) AS segment, "
    "current_setting('wal_block_size')::bigint AS block) p"
)
"""Asks a primary where its log ends; everything committed lies before. A standby has no answer."""

REPLICA = f"SELECT r.replayed AS position, {_FROM} FROM (SELECT {REPLAYED}) r"
"""Asks a standby how much of its primary's log it has replayed; a primary has no answer."""
