"""Installing the router in the database of the directory, and upgrading it."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from pgrecall.cells.addresses import shown
from pgrecall.cells.directory import CellEntry, Connection
from pgrecall.cells.fleet import Fleet
from pgrecall.cells.router import STATEMENTS, nodes
from pgrecall.cells.router.coordinator import Coordinator, installed_wrappers, propagate, run_file
from pgrecall.cells.router.wrappers import SCHEMA, Wrapper, declared_functions, wrappers_of
from pgrecall.errors import DatabaseUnsuitable, InvalidInput
from pgrecall.schema.roles import quoted


@dataclass(frozen=True, slots=True)
class Installed:
    """The outcome of an installation or upgrade: number of cells, and wrappers created, dropped and
    unchanged."""

    cells: int
    made: tuple[str, ...]
    dropped: tuple[str, ...]
    left: int


def install(fleet: Fleet) -> Installed:
    """Installs the router, or upgrades it. All wrappers change in one transaction of all nodes.

    Raises:
        InvalidInput: the directory is in a cell or has none, or a cell has another name of its database.
        DatabaseUnsuitable: a server has no Citus, or the role is no superuser.
        SchemaMismatch: a cell does not have the schema of this version.
    """
    coordinator = Coordinator(fleet.directory)
    facts = coordinator.require_usable()
    cells = fleet.directory.cells()
    _require_cells(fleet, cells, facts.database)
    for entry in cells:
        nodes.prepare_cell(fleet, entry)
    fleet.directory.install()
    wanted = wrappers_of(declared_functions(fleet.cell(cells[0])))
    with coordinator.transaction() as connection:
        _prepare(connection, fleet, cells[0], facts.database)
    with coordinator.transaction() as connection:
        nodes.add_nodes(connection, coordinator.url, cells)
    with coordinator.transaction(alone=True) as connection:
        if not coordinator.facts().routes:
            _share(connection, "shared.sql")
        _share(connection, "enter.sql")
        run_file(connection, "coordinator.sql")
        made, dropped = _replace(connection, wanted)
    with coordinator.transaction() as connection:
        nodes.set_routes(connection, cells)
    with coordinator.transaction() as connection:
        nodes.remove_nodes(connection, cells)
    return Installed(len(cells), made, dropped, len(wanted) - len(made))


def upgrade(fleet: Fleet) -> Installed:
    """Brings a router that is there up to this version and these cells.

    Raises:
        InvalidInput: there is none; and as for :func:`install`.
        DatabaseUnsuitable, SchemaMismatch: as for :func:`install`.
    """
    coordinator = Coordinator(fleet.directory)
    coordinator.require_usable()
    coordinator.require_installed()
    return install(fleet)


def _require_cells(fleet: Fleet, cells: tuple[CellEntry, ...], database: str) -> None:
    if not cells:
        raise InvalidInput("There is no cell to route to.", hint="Add one: pgrecall cell add URL")
    for entry in cells:
        nodes.host_and_port(entry.address)
        if conninfo_to_dict(entry.address)["dbname"] != database:
            raise InvalidInput(
                f"Cell {entry.number} is {shown(entry.address)}; the directory is in a database {database}.",
                hint="Citus requires the same database name in the coordinator and in every cell.",
            )
        fleet.cell(entry).require_current()
        with fleet.cell(entry).connected() as connection:
            row = connection.execute(STATEMENTS["coordinator"].encode()).fetchone()
        if row is None or not row["loaded"]:
            raise DatabaseUnsuitable(
                f"The server of cell {entry.number} has not loaded Citus.",
                hint="Install it there, with shared_preload_libraries = 'citus' and a restart.",
            )


def _prepare(connection: Connection, fleet: Fleet, entry: CellEntry, database: str) -> None:
    """The extensions on the coordinator, where those of the cells are."""
    with fleet.cell(entry).connected() as cell:
        rows = cell.execute(STATEMENTS["extensions"].encode()).fetchall()
    connection.execute("CREATE EXTENSION IF NOT EXISTS citus")
    for row in rows:
        if row["name"] == "vector":
            text = SQL("CREATE EXTENSION IF NOT EXISTS vector SCHEMA {}")
            connection.execute(text.format(Identifier(row["namespace"])))
    # Roles that are made here, and grants, stay here: cells have their own.
    text = SQL("ALTER DATABASE {} SET citus.enable_ddl_propagation = off")
    connection.execute(text.format(Identifier(database)))
    others = connection.execute(STATEMENTS["other_tables"].encode()).fetchall()
    if others:
        raise InvalidInput(
            f"The database {quoted(database)} has distributed tables of others: {others[0]['name']}.",
            hint="Use a coordinator only for cells, because its rebalancer is switched off.",
        )


def _share(connection: Connection, file: str) -> None:
    """Runs a file of statements that Citus repeats on every node."""
    propagate(connection, True)
    connection.execute("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true)")
    run_file(connection, file)
    propagate(connection, False)


def _replace(connection: Connection, wanted: dict[str, Wrapper]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Creates missing or changed wrappers and drops others; returns those created and those dropped."""
    there = installed_wrappers(connection)
    delegated = {row["name"] for row in connection.execute(STATEMENTS["delegated"].encode()).fetchall()}
    same = {name for name, wrapper in wanted.items() if _is(wrapper, there.get(name)) and name in delegated}
    propagate(connection, True)
    connection.execute("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true)")
    for name in sorted(there.keys() - same):
        text = f"DROP FUNCTION {{}}.{{}}({there[name][1]})"
        connection.execute(SQL(text).format(Identifier(SCHEMA), Identifier(name)))
    made = sorted(wanted.keys() - same)
    for name in made:
        connection.execute(wanted[name].create())
        connection.execute(
            # In a transaction of several statements too: clients open one for each call.
            "SELECT create_distributed_function(p.oid, 'p_tenant', 'recall_router.place', true) "
            "FROM pg_proc p WHERE p.pronamespace = 'recall_router'::regnamespace AND p.proname = %s",
            (name,),
        )
    propagate(connection, False)
    for name, wrapper in wanted.items():
        function = SQL("{}.{}").format(Identifier(SCHEMA), Identifier(name))
        connection.execute(SQL("REVOKE ALL ON FUNCTION {} FROM PUBLIC").format(function))
        for role in _roles(wrapper.least_role):
            grant = SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(function, Identifier(role))
            connection.execute(grant)
    return tuple(made), tuple(sorted(there.keys() - wanted.keys()))


def _is(wrapper: Wrapper, there: tuple[Wrapper, str] | None) -> bool:
    return there is not None and there[0].signature() == wrapper.signature()


def _roles(lowest: str) -> tuple[str, ...]:
    """A role and those that may do more: what one may, they may too."""
    ranks = ("recall_reader", "recall_app", "recall_worker")
    return ranks[ranks.index(lowest) :]
