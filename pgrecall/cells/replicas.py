"""Standbys of cells, which answer searches: named in the directory, and examined."""

from __future__ import annotations

from pgrecall.cells.addresses import address_of, shown
from pgrecall.cells.directory import CellEntry
from pgrecall.cells.installation import Installation
from pgrecall.database.connections import connect
from pgrecall.database.log_positions import PRIMARY, REPLICA, Server, server_of
from pgrecall.errors import InvalidInput


def set_replica(installation: Installation, number: int, url: str | None) -> CellEntry:
    """Names a standby of a cell in the directory; None: it has none. Running clients learn it soon.

    Args:
        url: the standby, as clients reach it; user and password are not kept.

    Raises:
        DatabaseUnavailable: the standby or its cell cannot be reached.
        InvalidInput: it is not a standby of this cell, or there is no such cell.
    """
    entry = installation.directory.cell(number)
    address = None if url is None else address_of(url)
    if address is not None:
        behind(installation, entry, address)
    installation.directory.install()  # one that an older version made has no place for it
    query = "UPDATE recall_cells.cell SET replica = %(address)s WHERE number = %(number)s"
    installation.directory.run(query, {"address": address, "number": number})
    return installation.directory.cell(number)


def behind(installation: Installation, entry: CellEntry, address: str) -> int:
    """How many bytes of its cell's log a standby has still to replay.

    Raises:
        DatabaseUnavailable: the standby or its cell cannot be reached.
        InvalidInput: it is not a standby of this cell.
    """
    standby = _position(installation, address, REPLICA)
    primary = _position(installation, entry.address, PRIMARY)
    if standby.position is None:
        raise InvalidInput(
            f"The server at {shown(address)} is not a standby.",
            hint="Name a streaming replica of the cell: docs/howto/scale.md.",
        )
    if not standby.is_same_database(primary):
        raise InvalidInput(
            f"The server at {shown(address)} is not a standby of cell {entry.number}, "
            f"which is {shown(entry.address)}.",
            hint="Name a streaming replica of the cell: docs/howto/scale.md.",
        )
    return max((primary.position or 0) - standby.position, 0)


def _position(installation: Installation, address: str, query: str) -> Server:
    with connect(installation.directory.url_of(address), timeout=installation.timeout) as connection:
        return server_of(connection.execute(query.encode()).fetchall())
