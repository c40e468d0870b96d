"""What `cell check` says of moves: one that a process makes is in order, one that was broken off is not."""

from __future__ import annotations

from pgrecall.cells.checking import CellFinding
from tests.integration.cells.conftest import Installation


def about_move(installation: Installation) -> CellFinding:
    [found] = [finding for finding in installation.fleet.check() if finding.cell is None]
    return found


def test_a_move_under_way_needs_nobody(apart: Installation) -> None:
    begun = "INSERT INTO recall_cells.move (tenant, source, target) VALUES ('acme', 0, 1)"
    apart.fleet.directory.run(begun)
    with apart.fleet.directory.exclusive("acme"):
        found = about_move(apart)
        assert (found.level, found.fix) == ("ok", "")
        assert found.message.startswith("Tenant acme moves from cell 0 to 1")
        assert found.message.endswith("a process is at it.")
    # Another tenant's mover is no help.
    with apart.fleet.directory.exclusive("beta"):
        found = about_move(apart)
    assert (found.level, found.fix) == ("warn", "pgrecall tenant move acme --to 1")
    assert "was interrupted; no process continues it." in found.message
