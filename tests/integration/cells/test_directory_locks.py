"""A role that may only ask for its tenant holds what it can in the directory: administrators go on."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall.cells.directory import Directory
from pgrecall.cells.router.coordinator import Coordinator
from pgrecall.errors import DatabaseError
from tests.integration.cells.conftest import Installation

HELD = (
    "SELECT pg_advisory_lock(hashtext('recall_cells'))",
    "SELECT pg_advisory_lock(hashtext('recall_cells'), hashtext('acme'))",
    "BEGIN",
    "SELECT recall_cells.find('beta'), recall_cells.place_tenant('beta')",
)


def test_a_bound_role_stops_no_administrator(apart: Installation, bound_role: str) -> None:
    directory = Directory(make_conninfo(apart.directory, options="-c lock_timeout=1s"))
    with psycopg.connect(make_conninfo(apart.directory, user=bound_role), autocommit=True) as attacker:
        with directory.exclusive("acme"):
            # What it sees a mover hold is of no use once that one is gone.
            seen = attacker.execute(
                "SELECT classid, objid, objsubid FROM pg_locks WHERE locktype = 'advisory' "
                "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            ).fetchall()
        assert len(seen) == 1
        for high, low, kind in seen:
            assert kind == 1
            attacker.execute("SELECT pg_advisory_lock((%s::bigint << 32) | %s::bigint)", (high, low))
        for statement in HELD:
            attacker.execute(statement.encode())
        with directory.exclusive("acme"):
            directory.install()
        assert {place.tenant for place in directory.places()} == {"acme", "beta"}


def test_one_call_at_a_time_changes_the_directory_or_its_router(two_cells: Installation) -> None:
    """This needs no Citus: the lock is a row of the directory."""
    directory = Directory(make_conninfo(two_cells.directory, options="-c lock_timeout=100ms"))
    with Coordinator(two_cells.fleet.directory).transaction(alone=True):
        with pytest.raises(DatabaseError, match="lock"):
            directory.install()
        with pytest.raises(DatabaseError, match="lock"), Coordinator(directory).transaction(alone=True):
            pass
    with Coordinator(directory).transaction(alone=True):
        pass
