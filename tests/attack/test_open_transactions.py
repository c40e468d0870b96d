"""Transactions of a bound role that never end: serializable ones, and prepared ones without a session."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pgrecall.cells.cell import Cell
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import DatabaseError
from pgrecall.schema import migrate
from pgrecall.schema.lock_retry import LockRetry
from tests.attack.calls import attacks_on, functions_of
from tests.attack.test_locks import BOUNDED
from tests.attack.world import NOW, World, attackers, fill
from tests.conftest import DIMENSIONS
from tests.faults.victim import Victim
from tests.given_server import leave_alone, own_server_only
from tests.server_folders import server_folder

pytestmark = pytest.mark.attack

WAITED = ("40", "55", "53")
"""Classes of errors of a call that met another transaction: serialization, locks, resources."""


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Both tenants on a server that lets roles prepare transactions, which is off by default."""
    own_server_only("changes a setting that needs a restart")
    with server_folder() as folder, EmbeddedServer.start(folder / "data", fast=True) as server:
        victim = Victim(server, "postgres", "")
        with victim.admin() as admin:
            admin.execute("ALTER SYSTEM SET max_prepared_transactions = 5")
        victim.stop()
        victim.start()
        leave_alone(server.url)
        migrate.upgrade(server.url, dimensions=DIMENSIONS)
        with psycopg.connect(server.url, autocommit=True) as admin:
            world = World(server.url, admin)
            fill(world)
            yield world


@pytest.fixture
def worker(world: World) -> Iterator[psycopg.Connection[Any]]:
    """The attacker with the most rights."""
    with attackers(world.url) as logins, world.log_in(logins["worker"]) as connection:
        yield connection


def call_everything(world: World, connection: psycopg.Connection[Any]) -> int:
    """Calls every function in the open transaction; returns how many answered."""
    done = 0
    for function in functions_of(world.admin):
        attack = next(attacks_on(function, {}, world.own))
        try:
            with connection.transaction():
                connection.execute(attack.sql.encode(), attack.parameters)
        except psycopg.Error:
            continue
        done += 1
    return done


def disturbed(world: World, tried: Counter[str]) -> list[tuple[str, str]]:
    """The functions that another tenant could not call, with what they said."""
    found: list[tuple[str, str]] = []
    with psycopg.connect(world.url, autocommit=True) as other:
        other.execute("SELECT set_config('recall.tenant', 'globex', false)")
        other.execute("SET lock_timeout = '20s'")
        for function in functions_of(world.admin):
            if function.name in BOUNDED:
                continue
            attack = next(attacks_on(function, {}, world.ids))
            if function.name == "create_key":
                attack = attack._replace(parameters=(attack.parameters[0], secrets.token_bytes(32), NOW))
            tried["open transactions"] += 1
            try:
                with other.transaction(force_rollback=True):
                    other.execute(attack.sql.encode(), attack.parameters)
            except psycopg.Error as error:
                if (error.sqlstate or "")[:2] in WAITED:
                    found.append((function.name, str(error)))
    return found


@pytest.mark.parametrize("level", ["SERIALIZABLE", "REPEATABLE READ"])
def test_nobody_meets_a_transaction_of_another_level(
    level: str, world: World, worker: psycopg.Connection[Any], tried: Counter[str]
) -> None:
    worker.execute(f"BEGIN ISOLATION LEVEL {level}".encode())
    assert call_everything(world, worker) > 60
    assert disturbed(world, tried) == []
    worker.execute("ROLLBACK")


def test_a_prepared_transaction_stops_nobody_and_is_named(
    world: World, worker: psycopg.Connection[Any], tried: Counter[str]
) -> None:
    """It holds locks without a process: whoever is in its way must learn how to end it."""
    role = worker.info.user
    worker.execute("BEGIN")
    for statement in (
        "SELECT recall.remember('left behind', p_key => 'left')",
        "SELECT recall.edit(recall.id_of('acme-plan'), '{\"author\": \"left behind\"}')",
        "SELECT recall.search_and_log(jsonb_build_object('query', 'harbour'))",
    ):
        worker.execute(statement)
    worker.execute("PREPARE TRANSACTION 'it''s mine'")
    worker.close()
    try:
        assert disturbed(world, tried) == []
        with pytest.raises(DatabaseError, match="transactions in this cell") as caught:  # as a move asks
            Cell(world.url).wait_for_transactions(timeout=0.1)
        assert "pg_prepared_xacts" in caught.value.hint
        with pytest.raises(DatabaseError) as caught:
            LockRetry(attempts=1).apply(lambda: _locked(world), world.url, timeout=30)
        assert f"A prepared transaction of role {role}, open since " in str(caught.value)
        assert "ROLLBACK PREPARED 'it''s mine'" in str(caught.value)
    finally:
        world.admin.execute("ROLLBACK PREPARED 'it''s mine'")
    Cell(world.url).wait_for_transactions(timeout=0.1)
    world.settle()


def _locked(world: World) -> None:
    """As an upgrade asks for a table."""
    try:
        with world.admin.transaction():
            world.admin.execute("SET LOCAL lock_timeout = '10ms'; LOCK TABLE recall.memory")
    except psycopg.errors.LockNotAvailable as error:
        raise DatabaseError("held", sqlstate=error.sqlstate) from error
