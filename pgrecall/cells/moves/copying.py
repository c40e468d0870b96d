"""Copying the rows of a tenant to another cell by logical replication: existing rows, then changes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping

from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Composable, Identifier, Literal

from pgrecall.cells.cell import POLL_SECONDS, Cell
from pgrecall.cells.directory import Connection
from pgrecall.cells.moves.changed_rows import create_slot
from pgrecall.cells.moves.rights import require_rights
from pgrecall.cells.statements import named_statements
from pgrecall.errors import DatabaseError, InvalidInput

_SQL = named_statements("moves/copying.sql")

SMALL_LAG = 1_000_000
"""Maximum lag of the target, in bytes of write-ahead log, when the writers are stopped."""

LEAVING_LIMIT = 30.0
"""Seconds for workers to leave a subscription that ends, and for receivers to leave a slot."""


class Copying:
    """The copy of one tenant from a cell to another. Another process can continue it at any step.

    Args:
        source, target: the cells.
        tenant: the tenant.
    """

    def __init__(self, source: Cell, target: Cell, tenant: str) -> None:
        self.source = source
        self.target = target
        self.tenant = tenant
        self._handed_over: set[str] = set()
        self._embedder: str | None = None
        # As in recall_private.move_name(). Slots belong to a server, which may have both cells.
        self.name = f"recall_move_{hashlib.md5(tenant.encode(), usedforsecurity=False).hexdigest()}"

    def require_possible(self) -> None:
        """Checks both servers before the copy begins.

        Raises:
            DatabaseUnsuitable: a setting or a right is missing; says which.
            InvalidInput: the cells differ in version or embedder, or a login role is missing.
        """
        self.source.require_current()
        self.target.require_current()
        require_rights(self.source, "source")
        require_rights(self.target, "target")
        ours, theirs = self.source.facts().embedder, self.target.facts().embedder
        if ours and theirs and ours != theirs:
            raise InvalidInput(
                f"The source keeps embeddings of {ours}, the target of {theirs}.",
                hint="All cells of an installation need the same embedder: docs/howto/models.md.",
            )
        roles = self._bound_roles()
        query = "SELECT rolname FROM pg_roles WHERE rolname = ANY (%(roles)s)"
        there = {row["rolname"] for row in self.target.run(query, {"roles": roles})}
        if missing := [role for role in roles if role not in there]:
            raise InvalidInput(
                f"The target's server has no role {', '.join(missing)}, which acts for {self.tenant}.",
                hint=f"With PGRECALL_CELLS set: pgrecall roles create {missing[0]} --for {self.tenant}.",
            )

    def begin(self, source_number: int, *, timeout: float) -> None:
        """Publishes the tenant at the source and subscribes to it at the target. Repeating it is harmless.

        Raises:
            DatabaseError: transactions that have to end first took longer than so many seconds.
        """
        if self._subscribed():
            return
        self.end()
        self.target.set_resident(self.tenant, "moving", source_number)
        self.forget_at(self.target)
        self.source.run(_SQL["keep_era"], {"tenant": self.tenant})
        with self.source.connected() as connection, connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = {round(timeout * 1000)}".encode())
            # A job that moves the tenant's vectors to their own table ends first; none begins afterwards.
            connection.execute("SELECT recall_private.lock_tenant(%s, 'vector table')", (self.tenant,))
            query = "SELECT t FROM recall_private.tenant_tables(%s) t"
            tables = connection.execute(query, (self.tenant,)).fetchall()
            ours = SQL(" WHERE (tenant = {})").format(Literal(self.tenant))
            parts: list[Composable] = [Identifier("recall", row["t"]) + ours for row in tables]
            connection.execute(
                SQL("CREATE PUBLICATION {} FOR TABLE {} WITH (publish_via_partition_root = true)").format(
                    Identifier(self.name), SQL(", ").join(parts)
                )
            )
        own = [row["t"] for row in tables if row["t"].startswith("vector_") and row["t"][7:].isdecimal()]
        for table in own:
            self.target.run("SELECT recall_private.make_vector_table(%(table)s)", {"table": table})
        with self.source.connected() as connection:
            create_slot(connection, self.name, timeout=timeout, temporary=False)
        with self.target.connected() as connection:
            connection.execute(
                SQL(
                    "CREATE SUBSCRIPTION {0} CONNECTION {1} PUBLICATION {0} WITH "
                    "(create_slot = false, slot_name = {2}, synchronous_commit = 'local')"
                ).format(Identifier(self.name), Literal(self._source_url()), Literal(self.name))
            )

    def _source_url(self) -> str:
        """The source for the target's server, with the password that this process may have from elsewhere."""
        with self.source.connected() as connection:
            password = connection.info.password
        return make_conninfo(self.source.url, password=password) if password else self.source.url

    def wait_for_copy(self, progress: Callable[[int, int], None], *, timeout: float) -> None:
        """Waits until every table is copied.

        Args:
            progress: called with the number of copied tables and of all tables.
            timeout: seconds without any progress after which it gives up.

        Raises:
            DatabaseError: nothing was copied for that long.
        """
        before, since = -1, time.monotonic()
        while True:
            [row] = self._ask_target("copied")
            if row["ready"] != before:
                before, since = row["ready"], time.monotonic()
                progress(row["ready"], row["tables"])
            if row["tables"] and row["ready"] == row["tables"]:
                return
            [size] = self._ask_target("progress")
            if size["moved"]:
                since = time.monotonic()
            if time.monotonic() - since > timeout:
                raise DatabaseError(
                    f"Nothing of tenant {self.tenant} was copied for {timeout:g} s.",
                    hint="See the log of the target's server, then run the same command again.",
                )
            time.sleep(0.1)

    def build_indexes(self) -> None:
        """Builds the vector indexes of a tenant that has its own table, and gathers statistics."""
        for table in self._own_tables(self.target):
            self.target.run("SELECT recall_private.index_vector_table(%(table)s)", {"table": table})
        tables = self.target.run(
            "SELECT t FROM recall_private.tenant_tables(%(tenant)s) t", {"tenant": self.tenant}
        )
        with self.target.connected() as connection:
            for row in tables:
                connection.execute(SQL("ANALYZE {}").format(Identifier("recall", row["t"])))

    def catch_up(self, *, timeout: float, to_the_end: bool) -> None:
        """Waits until the target has what the source has written so far.

        Args:
            timeout: seconds.
            to_the_end: everything; otherwise all but a little.

        Raises:
            DatabaseError: it took longer.
        """
        deadline = time.monotonic() + timeout
        with self.source.connected() as connection:
            # Only WAL on disk is sent, and a server with nothing to do writes the end of it seconds later.
            connection.execute("SET synchronous_commit = local")
            connection.execute("SELECT pg_logical_emit_message(true, 'pgrecall', '')")
            now = connection.execute("SELECT pg_current_wal_flush_lsn()::text AS lsn").fetchone()
            assert now is not None
            behind = {"lsn": now["lsn"], "name": self.name}
            while True:
                row = connection.execute(_SQL["lag"].encode(), behind).fetchone()
                if row is not None and row["lag"] <= (0 if to_the_end else SMALL_LAG):
                    return
                if time.monotonic() > deadline:
                    raise DatabaseError(
                        f"The target did not catch up within {timeout:g} s.",
                        hint="See the log of its server, then run the same command again.",
                        sqlstate="55P03",
                    )
                time.sleep(POLL_SECONDS)

    def hand_over(self) -> None:
        """Applies to the target what has changed outside the tables: bindings and the embedder."""
        [row] = self.source.run(_SQL["embedder"])
        for role in set(self._bound_roles()) - self._handed_over:
            values = {"role": role, "tenant": self.tenant}
            self.target.run("SELECT recall.bind_role(%(role)s, %(tenant)s)", values)
            self._handed_over.add(role)
        if (embedder := row["embedder"]) not in {None, self._embedder}:
            self.target.run(_SQL["set_embedder"], {"embedder": embedder})
            self._embedder = embedder

    def end(self) -> None:
        """Removes subscription, slots and publication, if they exist."""
        name = Identifier(self.name)
        with self.target.connected() as connection:
            row = connection.execute(_SQL["subscription"].encode(), {"name": self.name}).fetchone()
            if row is not None:
                connection.execute(SQL("ALTER SUBSCRIPTION {} DISABLE").format(name))
                # Tables that were being copied have separate slots, whose names are known only while the
                # subscription exists. So first its workers end, which could create one, then the slots.
                self._wait_for_workers(connection)
                self._drop_slots(f"^pg_{row['oid']}_sync_[0-9_]+$")
                connection.execute(SQL("ALTER SUBSCRIPTION {} SET (slot_name = NONE)").format(name))
                connection.execute(SQL("DROP SUBSCRIPTION {}").format(name))
        self._drop_slots(f"^{self.name}$")
        with self.source.connected() as connection:
            connection.execute(SQL("DROP PUBLICATION IF EXISTS {}").format(name))

    def _wait_for_workers(self, connection: Connection) -> None:
        deadline = time.monotonic() + LEAVING_LIMIT
        query = _SQL["workers"].encode()
        while connection.execute(query, {"name": self.name}).fetchall() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)

    def _drop_slots(self, pattern: str) -> None:
        """Drops slots at the source, each once its receiver has left it."""
        deadline = time.monotonic() + LEAVING_LIMIT
        with self.source.connected() as connection:
            while rows := connection.execute(_SQL["slots"].encode(), {"pattern": pattern}).fetchall():
                for row in rows:
                    if not row["active"] or time.monotonic() > deadline:
                        connection.execute("SELECT pg_drop_replication_slot(%s)", (row["slot_name"],))
                time.sleep(POLL_SECONDS)

    def forget_at(self, cell: Cell) -> int:
        """Deletes the tenant's rows in a cell in which it does not live; returns how many."""
        with cell.connected() as connection, connection.transaction():
            # Much faster without triggers and foreign keys; what they would delete is deleted anyway.
            connection.execute(_SQL["without_triggers"].encode())
            row = connection.execute("SELECT recall.forget_tenant(%s) AS rows", (self.tenant,)).fetchone()
            return int(row["rows"]) if row else 0

    def _subscribed(self) -> bool:
        [row] = self._ask_target("subscribed")
        return bool(row["n"])

    def _ask_target(self, name: str) -> list[Mapping[str, int]]:
        with self.target.connected() as connection:
            return list(connection.execute(_SQL[name].encode(), {"name": self.name}).fetchall())

    def _own_tables(self, cell: Cell) -> list[str]:
        query = "SELECT 'vector_' || h.number AS t FROM recall.vector_home h WHERE h.tenant = %(tenant)s"
        return [row["t"] for row in cell.run(query, {"tenant": self.tenant})]

    def _bound_roles(self) -> list[str]:
        query = "SELECT r.role FROM recall.tenant_role r WHERE r.tenant = %(tenant)s ORDER BY 1"
        return [row["role"] for row in self.source.run(query, {"tenant": self.tenant})]
