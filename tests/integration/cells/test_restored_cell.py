"""A cell is restored to before a tenant left it: it is served where it lives, and the stray is named."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.databases import cloned, dropped
from tests.integration.cells.conftest import Installation
from tests.integration.cells.test_bad_input import close


def test_a_cell_restored_to_before_a_move(two_cells: Installation) -> None:
    two_cells.fleet.place("acme", 0)
    two_cells.memory().remember("The winch of acme.", key="winch")
    before = conninfo_to_dict(two_cells.cells[0])["dbname"]
    backup = f"{before}_backup"
    elsewhere = make_conninfo(two_cells.cells[0], dbname="template1")
    two_cells.opened.close()
    with psycopg.connect(elsewhere, autocommit=True) as admin:
        cloned(admin, backup, str(before))
        try:
            two_cells.flip("acme", 0, 1)
            two_cells.memory().remember("The winch of acme is in cell 1.", key="winch")
            close(two_cells.cells[0])
            admin.execute(f"ALTER DATABASE {before} RENAME TO {before}_lost".encode())
            admin.execute(f"ALTER DATABASE {backup} RENAME TO {before}".encode())
            [stray] = [found for found in two_cells.fleet.check() if found.level == "fail"]
            assert stray.cell == 0
            assert stray.message == "Tenant acme lives here, but the directory places it in cell 1."
            assert "tenant place" not in stray.fix  # it would do nothing, and this is the wrong cell
            assert two_cells.memory().get("winch").body == "The winch of acme is in cell 1."
            # As docs/howto/scale.md says under Repair.
            two_cells.ask(0, "UPDATE recall.resident SET state = 'gone', cell = 1 WHERE tenant = 'acme'")
            two_cells.ask(0, "SELECT recall.forget_tenant('acme')")
            assert not [found for found in two_cells.fleet.check() if found.level == "fail"]
            assert two_cells.ask(0, "SELECT FROM recall.memory") == []
            assert two_cells.memory().get("winch").body == "The winch of acme is in cell 1."
        finally:
            two_cells.opened.close()
            for name in (backup, f"{before}_lost"):
                dropped(admin, name)


def test_two_homes_are_named_while_a_move_is_flipped(apart: Installation) -> None:
    """The old rows are kept until the sweep, and its cell was restored to before the move."""
    apart.flip("acme", 0, 1)
    flipped = "INSERT INTO recall_cells.move (tenant, source, target, step) VALUES ('acme', 0, 1, 'flipped')"
    apart.fleet.directory.run(flipped)
    assert not [found for found in apart.fleet.check() if found.level == "fail"]
    apart.ask(0, "UPDATE recall.resident SET state = 'here', cell = NULL WHERE tenant = 'acme'")
    [stray] = [found for found in apart.fleet.check() if found.level == "fail"]
    assert (stray.cell, stray.message) == (
        0, "Tenant acme lives here, but the directory places it in cell 1.",
    )  # fmt: skip


def test_a_tenant_that_its_new_cell_has_just_admitted_is_no_stray(apart: Installation) -> None:
    apart.fleet.directory.run("INSERT INTO recall_cells.move (tenant, source, target) VALUES ('acme', 0, 1)")
    apart.ask(0, "UPDATE recall.resident SET state = 'gone', cell = 1 WHERE tenant = 'acme'")
    apart.ask(1, "INSERT INTO recall.resident (tenant) VALUES ('acme')")
    assert not [found for found in apart.fleet.check() if found.level == "fail"]
