"""The real clients of editors read what `pgrecall connect` writes, and those that try servers reach ours.

They are looked for in the folder that PGRECALL_TEST_CLIENTS names, and on the PATH. Nothing is installed, and
no model is asked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.cli.test_connect import Home
from tests.waiting import PATIENCE

FOLDER = os.environ.get("PGRECALL_TEST_CLIENTS", "")
CLIENTS = {"claude": "Connected", "codex": "enabled", "gemini": "Connected"}
"""Each client with how it says that it can use a server. Codex starts none for its list."""

OURS = re.compile(r"\bpgrecall\b.*\bmcp\b")


def listed(home: Home, client: str) -> str:
    """What `CLIENT mcp list` prints, without colours."""
    program = shutil.which(client, path=os.pathsep.join([FOLDER, os.environ.get("PATH", "")]))
    if program is None:
        pytest.skip(f"There is no {client}; PGRECALL_TEST_CLIENTS can name its folder.")
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("PGRECALL_", "PYTEST_"))
    }
    variables |= {"HOME": str(home.home), "GEMINI_CLI_TRUST_WORKSPACE": "true", "CI": "1"}
    done = subprocess.run(
        [program, "mcp", "list"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=variables, cwd=home.project, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout.decode(errors="replace"))


@pytest.fixture
def home(tmp_path: Path, database_url: str) -> Home:
    return Home(tmp_path, database_url)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_lists_our_server_until_it_is_disconnected(client: str, home: Home) -> None:
    assert not OURS.search(listed(home, client))
    done = home.run("--database-url", home.url, "connect", client, "--yes")
    assert done.code == 0, done.err
    text = listed(home, client)
    [line] = [one for one in text.splitlines() if OURS.search(one)] or [text]
    assert CLIENTS[client] in line
    assert home.run("connect", client, "--undo", "--yes").code == 0
    assert not OURS.search(listed(home, client))
