"""Eight tenants in one database, each reached through SQL, a client and HTTP, and what can break."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from pgrecall import Memory
from pgrecall.schema import roles
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.acceptance.http.http_tools import Served, serving
from tests.conftest import DIMENSIONS
from tests.faults.wire import Wire, wire
from tests.model.book import Book
from tests.model.faces import Client, Sql
from tests.model.http_face import Http
from tests.model.stage import Reached
from tests.waiting import PATIENCE, until

BLOCKED = "SELECT pid FROM pg_stat_activity WHERE usename = %s AND wait_event_type = 'Lock' LIMIT 1"
SETTLED = "SELECT pg_snapshot_xmin(pg_current_snapshot()) > %s::text::xid8"
TENANTS = tuple(f"tenant{number}" for number in range(8))


@dataclass
class World:
    """The tenants, and what can be broken under them."""

    url: str
    admin: psycopg.Connection[Any]
    role: str
    line: Wire
    served: Served
    impatient: Memory
    tenants: list[Reached] = field(default_factory=list)

    def hasty(self, tenant: Reached) -> Client:
        """A client whose calls may take a fifth of a second."""
        return Client(self.impatient.for_tenant(tenant.book.tenant))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Meanwhile every call that records an access waits."""
        with psycopg.connect(self.url) as holder:
            holder.execute("LOCK TABLE recall.access IN ACCESS EXCLUSIVE MODE")
            yield
            holder.rollback()

    def settle(self) -> None:
        """Waits until all that was committed can be read in the log of changes, whatever other tests do."""
        mark = self.admin.execute("SELECT pg_current_xact_id()").fetchone()
        until(lambda: self.admin.execute(SETTLED, mark).fetchone() == (True,), "other transactions end")

    def blocked(self) -> int | None:
        """The server process of a call that waits for a lock."""
        row = self.admin.execute(BLOCKED, (self.role,)).fetchone()
        return None if row is None else int(row[0])

    def end_backends(self) -> int:
        """Ends every session of the role that all faces log in with."""
        sql = "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE usename = %s"
        row = self.admin.execute(sql, (self.role,)).fetchone()
        assert row is not None
        return int(row[0])


@contextmanager
def opened(url: str) -> Iterator[World]:
    """A world in an initialised database; its role is dropped at the end."""
    role = f"oracle_{uuid.uuid4().hex[:8]}"
    with ExitStack() as stack:
        admin = stack.enter_context(psycopg.connect(url, autocommit=True))
        roles.create(url, role, may="worker", tenant="*", password=None)
        stack.callback(_drop, admin, role)
        own = make_conninfo(url, user=role)
        line = stack.enter_context(wire(own))
        served = stack.enter_context(serving(own, pool_size="4"))
        settings = Settings(database_url=line.url, tenant=TENANTS[0], embedder="hash",
                            embedder_dimensions=DIMENSIONS, connect_timeout=PATIENCE)  # fmt: skip
        memory = stack.enter_context(Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)))
        hasty = stack.enter_context(Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS), timeout=0.2))
        world = World(url, admin, role, line, served, hasty)
        for tenant in TENANTS:
            sql, client = Sql(own, tenant), memory.for_tenant(tenant)
            stack.callback(sql.close)
            service = stack.enter_context(served.as_holder(client.keys.create("the oracle").secret))
            world.tenants.append(Reached(Book(tenant), sql, (Client(client), Http(service))))
        yield world


def _drop(admin: psycopg.Connection[Any], role: str) -> None:
    admin.execute(
        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE usename = %s", (role,)
    )
    admin.execute(f"DROP OWNED BY {role}".encode())
    admin.execute(f"DROP ROLE {role}".encode())
