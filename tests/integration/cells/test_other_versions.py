"""Cells of another version: a client uses those that are called alike, and says why it cannot use others."""

from __future__ import annotations

import pytest

from pgrecall.cells.move import Mover
from pgrecall.errors import InvalidInput, SchemaMismatch
from pgrecall.schema.compatibility import OLDEST_SCHEMA
from pgrecall.schema.state import head_revision
from tests.integration.cells.conftest import Installation

LATER = (
    "UPDATE recall.alembic_version SET version_num = '9000'",
    "UPDATE recall.setting SET value = '\"later\"' WHERE tenant = '*' AND name = 'schema.functions'",
    "CREATE FUNCTION recall.of_a_later_version() RETURNS int LANGUAGE sql RETURN 1",
)
"""Makes a cell one of a later version, which has more."""


@pytest.fixture
def apart(two_cells: Installation) -> Installation:
    """Two cells with one tenant each, acme in cell 0 and beta in cell 1."""
    for number, tenant in enumerate(("acme", "beta")):
        two_cells.fleet.place(tenant, number)
        two_cells.memory(tenant).remember(f"The winch of {tenant}.", key="winch")
    return two_cells


def make(installation: Installation, *statements: str) -> None:
    """Runs statements in cell 1."""
    for statement in statements:
        installation.ask(1, statement)


def test_a_later_version_that_is_called_alike(apart: Installation) -> None:
    make(apart, *LATER)
    client = apart.memory()
    for tenant in ("acme", "beta"):
        view = client.for_tenant(tenant)
        result = view.search("winch")
        assert [hit.body for hit in result.hits] == [f"The winch of {tenant}."]
        assert view.used(result.search_id or 0, result.hits[0].id) == 1
        view.remember("The winch is red.")
        assert view.status().memories == 2
        assert not [check for check in view.maintenance.verify() if check.problems]
    with pytest.raises(SchemaMismatch, match="schema 9000, which is newer than this pgrecall knows"):
        Mover(apart.fleet).move("acme", 1)


def test_an_earlier_version_that_is_called_alike(apart: Installation) -> None:
    make(apart, f"UPDATE recall.alembic_version SET version_num = '{OLDEST_SCHEMA}'")
    assert [hit.body for hit in apart.memory("beta").search("winch").hits] == ["The winch of beta."]
    [failed] = [found for found in apart.fleet.check() if found.level == "fail"]
    assert (failed.cell, failed.fix) == (1, "Run `pgrecall upgrade`.")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("ALTER FUNCTION recall.used RENAME TO no_longer_used", "it has no function recall.used"),
        (
            "ALTER FUNCTION recall.status RENAME TO old_status; CREATE FUNCTION recall.status() "
            "RETURNS int LANGUAGE sql RETURN 1",
            "its function recall.status is called in another way, or returns something else",
        ),
        (
            "COMMENT ON FUNCTION recall.installation() IS 'Serves clients of schema 9000 and newer.'",
            "it serves clients of schema 9000 and newer",
        ),
    ],
)
def test_a_later_version_that_is_not(apart: Installation, change: str, reason: str) -> None:
    make(apart, *LATER, change)
    client = apart.memory()
    said = f"schema 9000, which does not go with this version's \\({head_revision()}\\): {reason}"
    with pytest.raises(SchemaMismatch, match=said) as caught:
        client.for_tenant("beta").search("winch")
    assert caught.value.hint == "Install the version of pgrecall that it has."
    assert client.search("winch").hits


def test_a_version_that_is_too_old(apart: Installation) -> None:
    make(apart, "UPDATE recall.alembic_version SET version_num = '0015'")
    with pytest.raises(SchemaMismatch, match=f"this version needs {OLDEST_SCHEMA} or newer") as caught:
        apart.memory("beta").search("winch")
    assert caught.value.hint == "Run `pgrecall upgrade` for it."


def test_cells_are_upgraded_in_turn(apart: Installation) -> None:
    """An older directory too. While one cell waits for its turn, or is down, the others serve."""
    from pgrecall.cells.upgrading import upgrade_cells

    stale = "UPDATE recall.setting SET value = '\"older\"' WHERE tenant = '*' AND name = 'schema.functions'"
    for number in (0, 1):
        apart.ask(number, stale)
    apart.fleet.directory.run("DROP FUNCTION recall_cells.replica(bigint)")
    with pytest.raises(SchemaMismatch, match="directory of cells was made by an older pgrecall") as caught:
        apart.memory().search("winch")
    assert "pgrecall upgrade" in caught.value.hint
    apart.fleet.directory.install()
    client = apart.memory()
    for turn in upgrade_cells(apart.fleet):
        assert turn.done is not None
        assert turn.done.changed
        for tenant in ("acme", "beta"):
            assert client.for_tenant(tenant).search("winch").hits
    assert not [found for found in apart.fleet.check() if found.level == "fail"]
    away = "UPDATE recall_cells.cell SET address = 'host=/nowhere dbname=x' WHERE number = 0"
    apart.fleet.directory.run(away)
    zero, one = upgrade_cells(apart.fleet)
    assert (zero.done, one.problem) == (None, None)
    with pytest.raises(InvalidInput, match=r"There is no cell 9\."):
        list(upgrade_cells(apart.fleet, only=9))


def test_no_upgrade_while_a_tenant_is_copied(apart: Installation) -> None:
    from pgrecall.cells.upgrading import upgrade_cells

    apart.fleet.directory.run("INSERT INTO recall_cells.move (tenant, source, target) VALUES ('acme', 0, 1)")
    with pytest.raises(InvalidInput, match=r"^Tenant acme is being copied from cell 0 to 1\."):
        list(upgrade_cells(apart.fleet))
