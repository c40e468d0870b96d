"""Upgrades of the router, cells that come and go, and what Citus does to it by itself."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from pgrecall.cells.moves.move import Mover
from pgrecall.cells.router import access, nodes
from pgrecall.cells.router.checking import check
from pgrecall.cells.router.installing import upgrade
from pgrecall.schema import migrate
from tests.conftest import DIMENSIONS
from tests.integration.router.conftest import Router

ASK = "SELECT recall_router.current_tenant(%s)"


def failures(router: Router) -> list[str]:
    return [finding.message for finding in check(router.fleet) if finding.level == "fail"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT citus_rebalance_start()",
        "SELECT rebalance_table_shards('recall_router.place')",
        "SELECT rebalance_table_shards()",
        "SELECT * FROM get_rebalance_table_shards_plan()",
        "SELECT citus_drain_node('127.0.0.1', {0})",
    ],
)
def test_a_rebalance_is_refused(router: Router, statement: str) -> None:
    with (
        router.admin() as connection,
        pytest.raises(psycopg.Error, match="Citus cannot rebalance cells"),
    ):
        connection.execute(statement.format(router.cells[0].port).encode())
    undo = f"SELECT citus_set_node_property('127.0.0.1', {router.cells[0].port}, 'shouldhaveshards', true)"
    with router.admin() as connection:
        connection.execute(undo.encode())
    assert failures(router) == []


def test_a_way_that_was_moved_all_the_same_is_refused_and_mended(router: Router) -> None:
    tenant = router.place("fleet-lost", 0)
    one, two = (node.port for node in router.cells)
    with router.fleet.directory.connected() as directory:
        shard = nodes.routes(directory)[0].shard
    with router.admin() as connection:
        connection.execute(
            "SELECT citus_move_shard_placement(%s::bigint, '127.0.0.1', %s, '127.0.0.1', %s, 'block_writes')",
            (shard, one, two),
        )
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(ASK, (tenant,))
        assert refused.value.sqlstate == "RC001"
        assert failures(router) == ["Calls of its tenants do not find it."]
        upgrade(router.fleet)
        assert connection.execute(ASK, (tenant,)).fetchone() == (tenant,)
    assert failures(router) == []


def test_an_upgrade_makes_the_wrappers_those_of_this_version(router: Router) -> None:
    tenant = router.place("fleet-wrappers", 1)
    with router.admin() as connection:
        connection.execute("SET citus.enable_ddl_propagation = on")
        connection.execute("DROP FUNCTION recall_router.pin")
        connection.execute("DROP FUNCTION recall_router.layers")
        for name in ("layers", "of_old"):
            connection.execute(
                f"CREATE FUNCTION recall_router.{name}(p_tenant text) RETURNS text LANGUAGE sql "
                "RETURN p_tenant".encode()
            )
    found = failures(router)
    assert any("layers, of_old, pin" in message for message in found)
    assert any("does not distribute recall_router.of_old" in message for message in found)
    done = upgrade(router.fleet)
    assert (done.made, done.dropped) == (("layers", "pin"), ("of_old",))
    assert failures(router) == []
    with router.admin() as connection:
        rows = connection.execute("SELECT name FROM recall_router.layers(%s)", (tenant,)).fetchall()
        assert ("knowledge",) in rows
    assert upgrade(router.fleet).made == ()


def test_a_cell_with_more_columns_and_arguments_is_served(router: Router) -> None:
    """As while cells are upgraded, before the router is."""
    tenant = router.place("fleet-newer", 0)
    with router.in_cell(0) as cell, router.admin() as connection:
        [before] = cell.execute("SELECT pg_get_functiondef('recall.languages'::regproc)").fetchone() or [""]
        rows = connection.execute("SELECT * FROM recall_router.languages(%s)", (tenant,)).fetchall()
        cell.execute("DROP FUNCTION recall.languages")
        cell.execute(
            "CREATE FUNCTION recall.languages(p_more int DEFAULT 1) RETURNS TABLE (more int, name text, "
            "current boolean, accents_off boolean) LANGUAGE sql AS $$ SELECT 1, 'english', true, false $$"
        )
        now = connection.execute("SELECT * FROM recall_router.languages(%s)", (tenant,)).fetchall()
        assert now == [("english", True, False)]
        assert any("other functions than this cell: languages" in message for message in failures(router))
        cell.execute("DROP FUNCTION recall.languages")
        cell.execute(before.encode())
        cell.execute("SELECT recall_private.apply_declared_access()")
        assert connection.execute("SELECT * FROM recall_router.languages(%s)", (tenant,)).fetchall() == rows
    assert failures(router) == []


def test_a_cell_is_upgraded_while_the_other_serves(router: Router) -> None:
    served = router.place("fleet-served", 1)
    ended = threading.Event()

    def ask() -> int:
        answers = 0
        with router.admin() as connection:
            while answers == 0 or not ended.is_set():
                assert connection.execute(ASK, (served,)).fetchone() == (served,)
                answers += 1
        return answers

    with ThreadPoolExecutor() as threads:
        asking = threads.submit(ask)
        try:
            migrate.upgrade(router.cells[0].url)
        finally:
            ended.set()
        assert asking.result() > 0
    assert failures(router) == []


def test_a_cell_comes_and_goes(router: Router) -> None:
    migrate.upgrade(router.spare.url, dimensions=DIMENSIONS)
    router.fleet.add(router.spare.url)
    assert failures(router) != []
    router.fleet.place("fleet-third", 2)
    with router.admin() as connection:
        with pytest.raises(psycopg.Error, match="knows no cell of tenant fleet-third"):
            connection.execute("SELECT recall_router.admit_tenant('fleet-third')")
        upgrade(router.fleet)
        assert failures(router) == []
        connection.execute("SELECT recall_router.admit_tenant('fleet-third')")
        row = connection.execute(
            "SELECT recall_router.remember('fleet-third', 'The winch.', p_key => 'w')"
        ).fetchone()
        assert row is not None
        assert row[0] >= 2 * 2**40  # of the range of cell 2
        router.fleet.create_role("fleet_app", may="app", tenant="*", password=None)
        access.allow(router.fleet, "fleet_app")
        with router.log_in("fleet_app") as service:
            assert service.execute(ASK, ("fleet-third",)).fetchone() == ("fleet-third",)
        mover = Mover(router.fleet)
        mover.move("fleet-third", 0)
        mover.finish("fleet-third")
        router.fleet.remove(2)
        upgrade(router.fleet)
        assert connection.execute("SELECT recall_router.id_of('fleet-third', 'w')").fetchone() == row
        assert connection.execute("SELECT count(*) FROM pg_dist_node").fetchone() == (3,)
    assert failures(router) == []
