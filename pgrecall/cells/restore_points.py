"""Restore points: points in the logs to which all servers of an installation can be restored together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgrecall.cells.addresses import shown
from pgrecall.database.connections import connect
from pgrecall.errors import InvalidInput

if TYPE_CHECKING:
    from pgrecall.cells.fleet import Fleet

MAX_NAME_BYTES = 63

_POINT = (
    "SELECT pg_create_restore_point(%(name)s)::text AS lsn, "
    # The point is in the archive once its file is complete.
    "pg_switch_wal()::text AS switched"
)


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """The point in one server: where its database is, and the position in its write-ahead log."""

    address: str
    position: str


def make(fleet: Fleet, name: str) -> tuple[RestorePoint, ...]:
    """Creates a restore point of this name in every server, in that of the directory last.

    So the directory knows every tenant that a cell has. If it knows one that the cell does not have, the cell
    admits the tenant again when it is used.

    Raises:
        InvalidInput: the name is unusable, or a tenant moves: a restored cell could not continue that.
        DatabaseUnsuitable: the role may not make restore points, or switch the log file.
        DatabaseUnavailable: a server cannot be reached.
    """
    if not 0 < len(name.encode()) <= MAX_NAME_BYTES:
        raise InvalidInput(
            f"The name {name!r} of the restore point is empty or too long.",
            hint=f"At most {MAX_NAME_BYTES} bytes.",
        )
    before = _moved_tenants(fleet)
    urls = [fleet.directory.url_of(entry.address) for entry in fleet.directory.cells()]
    by_server: dict[str, str] = {}
    for url in [fleet.directory.url, *urls]:
        by_server.setdefault(_server(fleet, url), url)
    # A server may hold several databases; recovery ends at the first point of the name.
    made = [_point(fleet, url, name) for url in reversed(by_server.values())]
    if _moved_tenants(fleet) - before:
        raise InvalidInput(
            f"A tenant moved while the restore point {name} was made.", hint="Make one with another name."
        )
    return tuple(made)


def _moved_tenants(fleet: Fleet) -> set[str]:
    """The tenants that have moved and still have rows in their old cell; raises while any is copied."""
    moves = fleet.directory.moves()
    for move in moves:
        if move.step != "flipped":
            raise InvalidInput(
                f"Tenant {move.tenant} is being copied from cell {move.source} to {move.target}.",
                hint="Make the restore point when it has moved: pgrecall status.",
            )
    return {move.tenant for move in moves}


def _server(fleet: Fleet, url: str) -> str:
    with connect(url, timeout=fleet.timeout) as connection:
        row = connection.execute("SELECT system_identifier::text AS id FROM pg_control_system()").fetchone()
        assert row is not None
        return str(row["id"])


def _point(fleet: Fleet, url: str, name: str) -> RestorePoint:
    with connect(url, timeout=fleet.timeout) as connection:
        row = connection.execute(_POINT.encode(), {"name": name}).fetchone()
        assert row is not None
        return RestorePoint(shown(url), row["lsn"])
