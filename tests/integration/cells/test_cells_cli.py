"""Cells by the command line, from an installation that is there to one that is spread."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.cli.command_tools import Command
from tests.acceptance.conftest import bare_pgrecall, process
from tests.integration.cells.conftest import Installation

__all__ = ["bare_pgrecall", "process"]


class Line:
    """The command line with the directory of an installation."""

    def __init__(self, command: Command, installation: Installation) -> None:
        self._command = command
        self._settings = {"cells": installation.directory}

    def __call__(self, *arguments: str, code: int = 0) -> str:
        done = self._command(*arguments, **self._settings)
        assert done.code == code, done.err
        return done.out + done.err

    def json(self, *arguments: str) -> Any:
        done = self(*arguments, "--json")
        return json.loads(done)


LineOf = Callable[[Installation], Line]


@pytest.fixture
def line_of(bare_pgrecall: Command) -> LineOf:
    """Makes a command line that runs in the test's own process."""
    return lambda installation: Line(bare_pgrecall, installation)


def test_cells_by_command(installation: Installation, line_of: LineOf) -> None:
    line = line_of(installation)
    assert line("cell", "add", installation.cells[0]).startswith("Cell 0: ")
    assert line("cell", "add", installation.cells[1], "--room", "2GB").startswith("Cell 1: ")
    assert line("tenant", "place", "acme", "--cell", "1") == "Tenant acme lives in cell 1.\n"
    line("--tenant", "acme", "remember", "The winch needs grease.")
    said = line("--tenant", "acme", "status")
    assert "tenant acme in cell 1" in said
    assert [row.split()[0] for row in said.splitlines()[-2:]] == ["0", "1"]
    assert "acme: " in line("verify", "--all-tenants")
    assert 'pgrecall_cell_up{cell="1"} 1.0' in line("metrics")
    [zero, one] = line.json("cell", "list")
    assert (zero["entry"]["tenants"], one["entry"]["tenants"], one["entry"]["room"]) == (0, 1, 2 * 10**9)
    assert "2 GB" in line("cell", "list")
    [acme] = line.json("tenant", "list")
    assert (acme["tenant"], acme["cell"], acme["memories"]) == ("acme", 1, 1)
    assert line.json("cell", "check")["healthy"]
    assert line("upgrade").count("Nothing to do: schema ") == 2
    assert line("upgrade", "--cell", "1").startswith("Cell 1: Nothing to do")
    assert "Cell 1: " in line("doctor", "--only", "cells")
    assert "statistics were never" in line("--tenant", "acme", "doctor", "--only", "memories")
    assert "takes no new tenants. It still has 1 tenant." in line("cell", "drain", "1")
    assert "draining" in line("cell", "list")
    assert "acme" in line("cell", "balance", "--plan")
    assert "takes new tenants again" in line("cell", "drain", "1", "--stop")
    line("cell", "remove", "0")
    assert len(line.json("cell", "list")) == 1


def test_the_first_cell_brings_its_tenants(installation: Installation, line_of: LineOf) -> None:
    for tenant in ("acme", "beta"):
        installation.direct(0, tenant).remember("The winch needs grease.")
    line = line_of(installation)
    assert line("cell", "add", installation.cells[0]).endswith(", 2 tenants.\n")
    assert [row["tenant"] for row in line.json("tenant", "list")] == ["acme", "beta"]
    line("cell", "remove", "0")  # whoever tries it out can go back
    assert line.json("cell", "list") == []
    assert installation.direct(0).search("winch", log=False).hits
    assert line("cell", "add", installation.cells[0]).endswith(", 2 tenants.\n")
    assert line("cell", "add", installation.cells[1]).endswith(", 0 tenants.\n")
    assert "It still has 2 tenants." in line("cell", "drain", "0")


def test_a_restore_point_by_command(movable: Installation, line_of: LineOf) -> None:
    line = line_of(movable)
    said = line("cell", "restore-point", "noon")
    [position, address] = said.split(maxsplit=1)
    assert [int(half, 16) >= 0 for half in position.split("/")] == [True, True]
    assert "/run" in address  # one line: directory and cells are on one server
    assert said.count("\n") == 1
    assert "NAME is empty" in line("cell", "restore-point", "", code=2)
    assert "is empty or too long" in line("cell", "restore-point", "é" * 32, code=2)
    line("tenant", "place", "acme", "--cell", "0")
    movable.fleet.directory.run(
        "INSERT INTO recall_cells.move (tenant, source, target) VALUES ('acme', 0, 1)"
    )
    refused = line("cell", "restore-point", "later", code=2)
    assert "Tenant acme is being copied from cell 0 to 1." in refused


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cell", "add", "no url"), "cannot be read"),
        (("cell", "add", "dbname=x", "--room", "much"), "--room 'much' is not a size"),
        (("cell", "drain", "7"), "There is no cell 7"),
        (("upgrade", "--cell", "7"), "There is no cell 7"),
        (("cell", "replica", "0"), "No action was given"),
        (("cell", "balance"), "No action was given"),
        (("tenant", "move", "acme"), "No action was given"),
        (("tenant", "move", "acme", "--undo", "--dry-run"), "--dry-run can only be used with --to"),
        (("tenant", "move", "nobody", "--to", "1"), "No cell has a tenant nobody"),
        (("tenant", "place", "acme", "--cell", "9"), "There is no cell 9"),
        (("init",), "works on one database, but PGRECALL_CELLS names several"),
        (("--database-url", "dbname=x", "--cells", "dbname=y", "status"), "--cells cannot be combined with"),
    ],
)
def test_bad_input(two_cells: Installation, line_of: LineOf, arguments: tuple[str, ...], said: str) -> None:
    assert said in line_of(two_cells)(*arguments, code=2)


def test_without_a_directory(installation: Installation, line_of: LineOf) -> None:
    line = line_of(installation)
    assert "has no directory of cells" in line("cell", "list", code=3)
    line = line_of(Installation("host=/nowhere dbname=x", []))
    assert "The directory of cells cannot be reached" in line("status", code=3)


def test_a_cell_is_emptied_by_command(movable: Installation, line_of: LineOf) -> None:
    line = line_of(movable)
    line("tenant", "place", "acme", "--cell", "1")
    line("--tenant", "acme", "remember", "The winch needs grease.", "--key", "winch")
    line("cell", "drain", "1")
    assert "Tenant acme lives in cell 0." in line("cell", "balance", "--apply")
    line("tenant", "sweep", "--older-than", "0")
    assert "Cell 1 was removed" in line("cell", "remove", "1")
    assert "The winch" in line("--tenant", "acme", "show", "winch")


def test_roles_are_bound_everywhere(two_cells: Installation, line_of: LineOf) -> None:
    line, role = line_of(two_cells), "cells_reader"
    try:
        assert "acts for tenant acme" in line("roles", "create", role, "--for", "acme", "--reader")
        for cell in (0, 1):
            [row] = two_cells.ask(cell, f"SELECT tenant FROM recall.tenant_role WHERE role = '{role}'")
            assert row == {"tenant": "acme"}
        assert "may act for any tenant" in line("roles", "bind", role, "--any-tenant")
        assert line("roles", "unbind", role) == "Unbound.\n"
        assert line("roles", "unbind", role) == "It is bound to no tenant.\n"
    finally:
        two_cells.ask(0, f"DROP ROLE {role}")


def test_a_move_by_command(movable: Installation, process: Command) -> None:
    """Each command in a process of its own, as people run it."""
    line = Line(process, movable)
    line("tenant", "place", "acme", "--cell", "0")
    line("--tenant", "acme", "remember", "The winch needs grease.", "--key", "winch")
    move = ("tenant", "move", "acme", "--to", "1")
    assert "would move from cell 0 to cell 1: 1 memory," in line(*move, "--dry-run")
    assert "Moved from cell 0 to cell 1" in line(*move)
    assert "in cell 1" in line("--tenant", "acme", "status")
    assert "its old cell still has the rows" in line("tenant", "list")
    assert line("tenant", "sweep") == "Nothing to delete.\n"
    assert "acme: " in line("tenant", "sweep", "--older-than", "0")
    assert "The winch" in line("--tenant", "acme", "show", "winch")
