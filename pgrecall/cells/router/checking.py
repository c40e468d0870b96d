"""Checks of a coordinator: its nodes, its routes, and the wrappers on every node."""

from __future__ import annotations

from collections.abc import Iterator

from pgrecall.cells.checking import CellFinding
from pgrecall.cells.directory import CellEntry
from pgrecall.cells.fleet import Fleet
from pgrecall.cells.router import STATEMENTS, nodes
from pgrecall.cells.router.coordinator import Coordinator, installed_wrappers
from pgrecall.cells.router.wrappers import Wrapper, declared_functions, wrappers_of
from pgrecall.errors import RecallError

_UPGRADE = "pgrecall router upgrade"


def check(fleet: Fleet) -> Iterator[CellFinding]:
    """Checks the router; changes nothing.

    Raises:
        InvalidInput: there is none.
        DatabaseUnsuitable: the coordinator has no Citus.
    """
    coordinator = Coordinator(fleet.directory)
    coordinator.require_usable()
    coordinator.require_installed()
    cells = fleet.directory.cells()
    found: list[CellFinding] = []
    with coordinator.transaction() as connection:
        known = nodes.nodes(connection)
        misrouted = {entry.number for entry in nodes.misrouted(connection, cells)}
        there = {name: wrapper for name, (wrapper, _) in installed_wrappers(connection).items()}
        delegated = {row["name"] for row in connection.execute(STATEMENTS["delegated"].encode()).fetchall()}
        strategy = connection.execute(STATEMENTS["strategy"].encode()).fetchall()
    if [row["name"] for row in strategy] != ["recall_router"]:
        found.append(CellFinding(None, "fail", "Citus could rebalance the routes to the cells.", _UPGRADE))
    for name in sorted(there.keys() - delegated):
        found.append(CellFinding(None, "fail", f"Citus does not distribute recall_router.{name}.", _UPGRADE))
    for entry in cells:
        node = known.get(nodes.host_and_port(entry.address))
        if node is None or entry.number in misrouted:
            problem = "Calls of its tenants do not find it."
            found.append(CellFinding(entry.number, "fail", problem, _UPGRADE))
        elif not (node.active and node.synced):
            problem = "Citus has not sent it the list of nodes, so it gets no calls."
            fix = f"SELECT citus_activate_node('{node.host}', {node.port}), on the coordinator"
            found.append(CellFinding(entry.number, "fail", problem, fix))
        try:
            found.extend(_check_wrappers(fleet, entry, there))
        except RecallError as error:
            found.append(CellFinding(entry.number, "fail", error.message, error.hint))
    yield from found
    if not found:
        yield CellFinding(None, "ok", f"{len(there)} functions lead to {len(cells)} cells.")


def _check_wrappers(fleet: Fleet, entry: CellEntry, there: dict[str, Wrapper]) -> Iterator[CellFinding]:
    """Whether the wrappers on the coordinator are those of a cell's functions, and the same in the cell."""
    cell = fleet.cell(entry)
    wanted = wrappers_of(declared_functions(cell))
    with cell.connected() as connection:
        copies = {name: wrapper for name, (wrapper, _) in installed_wrappers(connection).items()}
    for names, problem in (
        (_differing(wanted, there), "The router has other functions than this cell"),
        (_differing(there, copies), "This cell has other wrappers than the coordinator"),
    ):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            yield CellFinding(entry.number, "fail", f"{problem}: {', '.join(names[:3])}{more}.", _UPGRADE)


def _differing(one: dict[str, Wrapper], other: dict[str, Wrapper]) -> list[str]:
    return sorted(
        name
        for name in one.keys() | other.keys()
        if name not in one or name not in other or one[name].signature() != other[name].signature()
    )
