"""Cells as nodes of Citus. Each has the key of a shard on its node, which routes calls to the node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from pgrecall.cells.addresses import shown
from pgrecall.cells.directory import CellEntry, Connection
from pgrecall.cells.fleet import Fleet
from pgrecall.cells.router import STATEMENTS
from pgrecall.errors import InvalidInput

MAX_CELLS = 64
"""Shards of the table that says where keys are; each cell needs one (``shared.sql``)."""

_MOVE = "SELECT citus_move_shard_placement(%s::bigint, %s::text, %s::int, %s::text, %s::int, 'block_writes')"


@dataclass(frozen=True, slots=True)
class Route:
    """The key of a cell, its shard, and the Citus group of the node that holds the shard."""

    cell: int
    number: int
    shard: int
    group: int


@dataclass(frozen=True, slots=True)
class CitusNode:
    """A node as Citus has it."""

    group: int
    host: str
    port: int
    active: bool
    synced: bool


def host_and_port(address: str) -> tuple[str, int]:
    """Where Citus finds the server of an address.

    Raises:
        InvalidInput: it names no single host.
    """
    parts = conninfo_to_dict(address)
    host, port = str(parts.get("host") or ""), str(parts.get("port") or "5432")
    if not host or "," in host or host.startswith("/"):
        raise InvalidInput(
            f"Citus cannot reach {shown(address)}: it names no single host.",
            hint="Give the directory and every cell a URL with one host and port.",
        )
    return host, int(port)


def prepare_cell(fleet: Fleet, entry: CellEntry) -> None:
    """Prepares a cell to be a node: installs Citus without propagation of schema changes."""
    database = str(conninfo_to_dict(entry.address)["dbname"])
    with fleet.cell(entry).connected() as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS citus")
        # Else upgrades, new tables and roles fail in a cell: "operation is not allowed on this node".
        alter = SQL("ALTER DATABASE {} SET citus.enable_ddl_propagation = off")
        connection.execute(alter.format(Identifier(database)))


def nodes(connection: Connection) -> dict[tuple[str, int], CitusNode]:
    """Every node, the coordinator included, by host and port."""
    rows = connection.execute(STATEMENTS["nodes"].encode()).fetchall()
    return {(row["host"], row["port"]): CitusNode(**row) for row in rows}


def add_nodes(connection: Connection, coordinator: str, cells: tuple[CellEntry, ...]) -> None:
    """Adds cells that are not nodes yet. Roles are not copied."""
    for name in ("citus.enable_create_role_propagation", "citus.enable_alter_role_propagation"):
        connection.execute("SELECT set_config(%s, 'off', true)", (name,))
    known = nodes(connection)
    if not any(node.group == 0 for node in known.values()):
        connection.execute("SELECT citus_set_coordinator_host(%s, %s)", host_and_port(coordinator))
    for entry in cells:
        if host_and_port(entry.address) not in known:
            connection.execute("SELECT citus_add_node(%s, %s)", host_and_port(entry.address))


def routes(connection: Connection) -> dict[int, Route]:
    """The route to each cell that has one."""
    rows = connection.execute(STATEMENTS["routes"].encode()).fetchall()
    return {row["cell"]: Route(**row) for row in rows}


def misrouted(connection: Connection, cells: tuple[CellEntry, ...]) -> list[CellEntry]:
    """Cells that calls would not reach: without a key, or with a key in a shard of another node."""
    groups, there = nodes(connection), routes(connection)
    found = []
    for entry in cells:
        node, route = groups.get(host_and_port(entry.address)), there.get(entry.number)
        if node is None or route is None or route.group != node.group:
            found.append(entry)
    return found


def set_routes(connection: Connection, cells: tuple[CellEntry, ...]) -> None:
    """Gives every cell that calls would not find the key of a shard on its node; moves one there if none is.

    Raises:
        InvalidInput: there are more cells than shards.
    """
    if len(cells) > MAX_CELLS:
        raise InvalidInput(f"A router can serve at most {MAX_CELLS} cells.", hint="Use several directories.")
    numbers = [entry.number for entry in cells]
    connection.execute("DELETE FROM recall_router.route WHERE cell <> ALL (%s)", (numbers,))
    known = nodes(connection)
    for entry in misrouted(connection, cells):
        node = known[host_and_port(entry.address)]
        taken = {route.shard for route in routes(connection).values() if route.cell != entry.number}
        free = [row for row in _keys(connection) if row["shard"] not in taken]
        near = [row for row in free if row["group"] == node.group]
        chosen = (near or free)[0]
        if not near:
            source = next(one for one in known.values() if one.group == chosen["group"])
            connection.execute(_MOVE, (chosen["shard"], source.host, source.port, node.host, node.port))
        values = {"cell": entry.number, "number": chosen["number"]}
        connection.execute(STATEMENTS["set_route"].encode(), values)


def remove_nodes(connection: Connection, cells: tuple[CellEntry, ...]) -> None:
    """Removes nodes that are no longer cells; their shards move to the first cell."""
    kept = {host_and_port(entry.address) for entry in cells}
    known = nodes(connection)
    target = known[host_and_port(cells[0].address)]
    for place, node in known.items():
        if node.group == 0 or place in kept:
            continue
        for row in _keys(connection):
            if row["group"] == node.group:
                values = (row["shard"], node.host, node.port, target.host, target.port)
                connection.execute(_MOVE, values)
        connection.execute("SELECT citus_remove_node(%s, %s)", place)


def _keys(connection: Connection) -> list[Any]:
    """One key of each shard, with the group of the node that holds it."""
    rows = connection.execute(STATEMENTS["keys"].encode()).fetchall()
    return list({row["shard"]: row for row in reversed(rows)}.values())
