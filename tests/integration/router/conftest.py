"""A coordinator with two cells, for all tests of this folder: each uses tenants of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall.cells.fleet import Fleet
from pgrecall.cells.router.installing import install
from pgrecall.schema import migrate
from tests.conftest import DIMENSIONS
from tests.integration.router.citus_servers import CITUS, Node, citus_nodes


@dataclass
class Router:
    """The coordinator, the nodes that are cells 0 and 1, and one that is none yet."""

    coordinator: Node
    cells: list[Node]
    spare: Node

    @property
    def fleet(self) -> Fleet:
        return Fleet(self.coordinator.url)

    def admin(self) -> psycopg.Connection[Any]:
        """A connection of a superuser to the coordinator."""
        return psycopg.connect(self.coordinator.url, autocommit=True)

    def log_in(self, role: str) -> psycopg.Connection[Any]:
        """A connection of a login role to the coordinator."""
        return psycopg.connect(make_conninfo(self.coordinator.url, user=role), autocommit=True)

    def in_cell(self, number: int, **options: str) -> psycopg.Connection[Any]:
        """A connection to a cell."""
        return psycopg.connect(make_conninfo(self.cells[number].url, **options), autocommit=True)

    def place(self, tenant: str, cell: int) -> str:
        """A new tenant in this cell."""
        self.fleet.place(tenant, cell)
        with self.admin() as connection:
            connection.execute("SELECT recall_router.admit_tenant(%s)", (tenant,))
        return tenant


@pytest.fixture(scope="session")
def router() -> Iterator[Router]:
    """A router to two cells."""
    if CITUS is None:
        pytest.skip("PGRECALL_TEST_CITUS names no folder with the programs of a Postgres with Citus.")
    with citus_nodes(4) as nodes:
        made = Router(nodes[0], nodes[1:3], nodes[3])
        for node in made.cells:
            migrate.upgrade(node.url, dimensions=DIMENSIONS)
            made.fleet.add(node.url)
        install(made.fleet)
        yield made
