"""Where no router can be installed: this needs no Citus."""

from __future__ import annotations

import pytest
from psycopg.conninfo import make_conninfo

from pgrecall.cells.fleet import Fleet
from pgrecall.cells.router import access
from pgrecall.cells.router.checking import check
from pgrecall.cells.router.installing import install, upgrade
from pgrecall.errors import DatabaseUnsuitable, InvalidInput
from tests.integration.cells.conftest import Installation


def test_a_directory_without_cells(installation: Installation) -> None:
    with pytest.raises(InvalidInput, match="has no directory of cells"):
        install(installation.fleet)


def test_a_directory_in_a_cell(installation: Installation) -> None:
    with pytest.raises(InvalidInput, match="a coordinator cannot be one"):
        install(Fleet(installation.cells[0]))


def test_a_server_without_citus(two_cells: Installation) -> None:
    with pytest.raises(DatabaseUnsuitable, match="has not loaded Citus") as refused:
        install(two_cells.fleet)
    assert "shared_preload_libraries" in refused.value.hint
    with pytest.raises(DatabaseUnsuitable):
        upgrade(two_cells.fleet)
    with pytest.raises(DatabaseUnsuitable):
        tuple(check(two_cells.fleet))


def test_roles_without_a_router(two_cells: Installation) -> None:
    with pytest.raises(InvalidInput, match="No router is installed here"):
        access.allow(two_cells.fleet, "acme")
    with pytest.raises(InvalidInput, match="No router is installed here"):
        access.deny(two_cells.fleet, "acme")


def test_a_directory_that_does_not_answer(two_cells: Installation) -> None:
    gone = make_conninfo(two_cells.directory, port=1, host="127.0.0.1")
    with pytest.raises(Exception, match="directory of cells cannot be reached"):
        install(Fleet(gone))
