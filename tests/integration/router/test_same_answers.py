"""Every declared function, with usual and hostile arguments: directly, by the directory, and routed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pgrecall.cells.router import access
from pgrecall.schema.roles import Rights
from tests.attack.calls import Attack, Function, attacks_on, functions_of
from tests.attack.world import UNKNOWN, World, fill
from tests.integration.router.conftest import Router
from tests.integration.router.ways import Numbers, through_router, told_by

CLOSED = (
    "SELECT * FROM recall_router.route",
    "SELECT * FROM recall_router.place",
    "SELECT * FROM recall_cells.place",
    "INSERT INTO recall_router.place VALUES (ROW(1)::recall_router.key)",
    "SELECT citus_rebalance_start()",
    "SELECT recall_router.require_plain('x')",
)
"""What no login role may do on the coordinator."""

RIGHTS: tuple[Rights, ...] = ("reader", "app", "worker")


@pytest.fixture(scope="module")
def world(router: Router) -> Iterator[World]:
    """Tenants acme and globex in cell 0, with login roles for acme that may use the router."""
    for tenant in ("acme", "globex"):
        router.place(tenant, 0)
    with router.in_cell(0) as admin:
        made = World(router.cells[0].url, admin)
        fill(made)
        for right in RIGHTS:
            router.fleet.create_role(f"router_{right}", may=right, tenant="acme", password=None)
            access.allow(router.fleet, f"router_{right}")
        yield made


@pytest.fixture(scope="module")
def functions(world: World) -> list[Function]:
    return functions_of(world.admin)


def test_every_declared_function_has_a_wrapper(router: Router, functions: list[Function]) -> None:
    with router.admin() as connection:
        rows = connection.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'recall_router'::regnamespace"
        ).fetchall()
    assert {row[0] for row in rows} >= {function.name for function in functions}


@pytest.mark.parametrize("right", RIGHTS)
def test_answers_are_the_same_and_of_nobody_else(
    right: Rights, router: Router, world: World, functions: list[Function]
) -> None:
    numbers, before = Numbers(world.admin), world.digest()
    place = router.fleet.directory.find("acme")
    assert place is not None
    found = router.fleet.at(place.address).url
    differing: list[Any] = []
    calls = 0
    with (
        router.log_in(f"router_{right}") as routed,
        router.in_cell(0, user=f"router_{right}") as direct,
        psycopg.connect(found, user=f"router_{right}", autocommit=True) as by_directory,
    ):
        for function in functions:
            if function.least_role != f"recall_{right}":
                continue
            for number, attack in enumerate(attacks_on(function, world.ids, world.own)):
                told = []
                ways = [(direct, attack), (routed, through_router(attack, "acme"))]
                if number == 0:
                    ways.append((by_directory, attack))
                for connection, call in ways:
                    numbers.begin_again()
                    told.append(told_by(connection, call))
                calls += 1
                if len(set(told)) > 1:
                    differing.append((attack, *told))
                assert UNKNOWN not in " ".join(told), attack
    assert differing == []
    assert calls > 100
    assert world.digest() == before


@pytest.mark.parametrize("right", RIGHTS)
def test_a_bound_login_cannot_ask_for_another_tenant(
    right: Rights, router: Router, world: World, functions: list[Function]
) -> None:
    before = world.digest()
    with router.log_in(f"router_{right}") as routed:
        routed.execute("SELECT set_config('recall.tenant', 'globex', false)")
        for function in functions:
            for attack in list(attacks_on(function, world.ids, world.own))[:1]:
                told = told_by(routed, through_router(attack, "globex"))
                assert told.startswith("42501 "), (function.name, told)
    assert world.digest() == before


def test_it_learns_nothing_of_where_others_are(router: Router, world: World) -> None:
    with router.log_in("router_worker") as routed:
        told = set()
        for tenant in ("globex", "nobody"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
                routed.execute("SELECT recall_router.status(%s)", (tenant,))
            told.add(str(refused.value.diag.message_primary).replace(tenant, "T"))
        assert len(told) == 1
        for statement in CLOSED:
            with pytest.raises(psycopg.Error) as closed:
                routed.execute(statement.encode())
            assert closed.value.sqlstate == "42501", statement


def test_the_wrappers_of_a_cell_lead_nowhere_else(router: Router, world: World) -> None:
    """Citus knows on the workers too where a function is sent."""
    for number in (0, 1):
        with router.in_cell(number, user="router_worker") as connection:
            attack = Attack("layers", "SELECT * FROM recall.layers()", ())
            told = told_by(connection, through_router(attack, "globex"))
            assert "globex" not in told.replace("tenant globex", "")
            assert not told.startswith("[")
