"""Login roles and the router: none may use it that was not let in."""

from __future__ import annotations

import psycopg
import pytest

from pgrecall.cells.router import access
from pgrecall.errors import InvalidInput
from tests.integration.router.conftest import Router


def test_a_role_is_let_in_with_its_rights_and_out_again(router: Router) -> None:
    tenant = router.place("access-acme", 0)
    router.fleet.create_role("access_reader", may="reader", tenant=tenant, password=None)
    with router.log_in("access_reader") as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT recall_router.status(%s)", (tenant,))
        assert access.allow(router.fleet, "access_reader") == "reader"
        assert connection.execute("SELECT recall_router.current_tenant(%s)", (tenant,)).fetchone() == (
            tenant,
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="remember"):
            connection.execute("SELECT recall_router.remember(%s, 'A fact.')", (tenant,))
        access.deny(router.fleet, "access_reader")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT recall_router.status(%s)", (tenant,))
    with router.in_cell(0, user="access_reader") as connection:
        assert connection.execute("SELECT recall.current_tenant()").fetchone() == (tenant,)


def test_a_service_asks_for_any_tenant_in_any_cell(router: Router) -> None:
    tenants = [router.place(f"access-{number}", number) for number in (0, 1)]
    router.fleet.create_role("access_service", may="app", tenant="*", password=None)
    access.allow(router.fleet, "access_service")
    with router.log_in("access_service") as connection:
        with connection.transaction():  # of two cells
            for tenant in tenants:
                connection.execute("SELECT recall_router.remember(%s, 'A fact.')", (tenant,))
        with connection.transaction(force_rollback=True):
            for tenant in tenants:
                connection.execute("SELECT recall_router.remember(%s, 'Another fact.')", (tenant,))
        for tenant in tenants:
            row = connection.execute(
                "SELECT count(*) FROM recall_router.list_memories(%s)", (tenant,)
            ).fetchone()
            assert row == (1,)
        # A new tenant is placed by the directory, and admitted by its cell.
        connection.execute("SELECT * FROM recall_cells.place_tenant('access-new')")
        assert connection.execute("SELECT recall_router.admit_tenant('access-new')").fetchone() == (True,)
        assert connection.execute("SELECT recall_router.current_tenant('access-new')").fetchone() == (
            "access-new",
        )


def test_a_role_that_may_do_nothing_is_not_let_in(router: Router) -> None:
    with router.admin() as connection:
        connection.execute("CREATE ROLE access_stranger LOGIN")
    with pytest.raises(InvalidInput, match="may do nothing in cell 0"):
        access.allow(router.fleet, "access_stranger")
    with pytest.raises(InvalidInput, match="no role access_nobody"):
        access.deny(router.fleet, "access_nobody")
