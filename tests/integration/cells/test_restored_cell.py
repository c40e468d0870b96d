"""A cell is restored to before a tenant left it: it is served where it lives, and the stray is named."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.conftest import cloned, dropped
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
            assert stray.message == "Tenant acme lives here, but the directory does not list it."
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
