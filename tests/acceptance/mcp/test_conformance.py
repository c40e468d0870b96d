"""The conformance suite of MCP, where PGRECALL_TEST_CLIENTS or the PATH has its program.

Its other scenarios call tools, prompts and resources that only its own example server has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.mcp.mcp_tools import served_over_http
from tests.waiting import PATIENCE

PATH = os.pathsep.join([os.environ.get("PGRECALL_TEST_CLIENTS", ""), os.environ.get("PATH", "")])
SCENARIOS = (
    "server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection",
    "server-sse-multiple-streams",
)  # fmt: skip


def test_the_scenarios_for_any_server_pass(database_url: str, tmp_path: Path) -> None:
    program = shutil.which("conformance", path=PATH)
    if program is None:
        pytest.skip("There is no conformance suite; PGRECALL_TEST_CLIENTS can name its folder.")
    runs = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=PATIENCE)
    if runs.returncode != 0:
        pytest.skip("The conformance suite does not run here: it needs Node 22.")
    with served_over_http(database_url) as address:
        for scenario in SCENARIOS:
            done = subprocess.run(
                [program, "server", "--url", address, "--scenario", scenario],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp_path,
                timeout=PATIENCE, check=False,
            )  # fmt: skip
            assert (done.returncode, b" 0 failed" in done.stdout) == (0, True), done.stdout.decode()[-2000:]
