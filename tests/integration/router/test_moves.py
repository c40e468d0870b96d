"""Tenants that move while they are used through the router."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from pgrecall.cells.moves.move import Mover
from tests.integration.router.conftest import Router

SEARCH = "SELECT id, body, score FROM recall_router.search(%s, 'winch', p_now => '2026-06-01')"


def test_calls_follow_a_tenant_that_moves(router: Router) -> None:
    tenant = router.place("moves-acme", 0)
    ended, told = threading.Event(), set()

    def search() -> int:
        refused = 0
        with router.admin() as connection:
            while not ended.is_set():
                try:
                    told.add(str(connection.execute(SEARCH, (tenant,), prepare=True).fetchall()))
                except psycopg.Error as error:
                    # No cell has it for some milliseconds: whoever asks again is answered.
                    assert error.sqlstate == "RC001"  # noqa: PT017 (most calls raise nothing)
                    refused += 1
        return refused

    with router.admin() as connection:
        for number in range(30):
            connection.execute(
                "SELECT recall_router.remember(%s, %s)", (tenant, f"The winch number {number} needs grease.")
            )
        before = connection.execute(SEARCH, (tenant,)).fetchall()
        assert len(before) == 10
        with ThreadPoolExecutor() as threads:
            searching = threads.submit(search)
            try:
                Mover(router.fleet).move(tenant, 1)
            finally:
                ended.set()
            assert searching.result() >= 0
        assert told == {str(before)}
        assert connection.execute(SEARCH, (tenant,)).fetchall() == before
        [number] = connection.execute("SELECT recall_router.remember(%s, 'Oil.')", (tenant,)).fetchone() or [
            0
        ]
    assert number >= 2**40  # of the range of cell 1
    with router.in_cell(1) as cell:
        cell.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))
        assert cell.execute("SELECT recall.current_tenant()").fetchone() == (tenant,)


def test_a_plan_of_before_is_refused_by_the_old_cell(router: Router) -> None:
    """The tenant is a constant in it, so that Citus need not look again."""
    tenant = router.place("moves-planned", 0)
    with router.admin() as connection:
        text = f"SELECT recall_router.current_tenant('{tenant}')".encode()
        for _ in range(7):
            assert connection.execute(text, prepare=True).fetchone() == (tenant,)
        Mover(router.fleet).move(tenant, 1)
        try:
            assert connection.execute(text, prepare=True).fetchone() == (tenant,)
        except psycopg.Error as error:
            assert error.sqlstate == "RC001"  # noqa: PT017 (either is right)
        connection.execute("DISCARD PLANS")
        assert connection.execute(text, prepare=True).fetchone() == (tenant,)


def test_a_tenant_that_moves_is_read_and_not_written(router: Router) -> None:
    tenant = router.place("moves-stopped", 0)
    with router.in_cell(0) as cell, router.admin() as connection:
        cell.execute("UPDATE recall.resident SET state = 'moving' WHERE tenant = %s", (tenant,))
        connection.execute("SELECT recall_router.status(%s)", (tenant,))
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("SELECT recall_router.remember(%s, 'A fact.')", (tenant,))
        cell.execute("UPDATE recall.resident SET state = 'here' WHERE tenant = %s", (tenant,))
        connection.execute("SELECT recall_router.remember(%s, 'A fact.')", (tenant,))
