"""The router by the command line."""

from __future__ import annotations

import json
import subprocess

from tests.acceptance.cli.command_tools import command_line, environment
from tests.integration.router.conftest import Router


def line(router: Router, *arguments: str, code: int = 0) -> str:
    """What a command prints, with the directory of the router."""
    done = subprocess.run(
        command_line(*arguments),
        env=environment(cells=router.coordinator.url),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_the_router_by_command(router: Router) -> None:
    assert "The router serves 2 cells: 0 functions new" in line(router, "router", "init")
    assert json.loads(line(router, "router", "upgrade", "--json"))["made"] == []
    assert "functions lead to 2 cells." in line(router, "router", "check")
    router.place("cli-acme", 0)
    line(router, "roles", "create", "cli_reader", "--for", "cli-acme", "--reader")
    assert line(router, "router", "allow", "cli_reader") == "Role cli_reader may use the router, as reader.\n"
    assert line(router, "router", "deny", "cli_reader") == "Role cli_reader may not use the router.\n"
    with router.admin() as connection:
        connection.execute("DELETE FROM recall_router.route WHERE cell = 1")
    told = line(router, "router", "check", code=1)
    assert "Calls of its tenants do not find it." in told
    assert "pgrecall router upgrade" in told
    line(router, "router", "upgrade")
    assert json.loads(line(router, "router", "check", "--json"))["healthy"]
    assert "no role cli_nobody" in line(router, "router", "deny", "cli_nobody", code=2)
