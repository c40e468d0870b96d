"""The MCP inspector lists and calls our tools, where PGRECALL_TEST_CLIENTS or the PATH has it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pgrecall import Memory
from tests.acceptance.cli.command_tools import environment
from tests.acceptance.mcp.mcp_tools import TOOLS, command
from tests.acceptance.mcp.oauth_tools import (
    Person,
    authorization,
    exchanged,
    registered,
    serving_oauth,
    values_of,
)
from tests.acceptance.mcp.test_conformance import PATH
from tests.waiting import PATIENCE

BODY = "The ferry berths at the north quay."


class Inspector:
    """The program, with a home of its own: it keeps what it connects to."""

    def __init__(self, home: Path) -> None:
        program = shutil.which("mcp-inspector", path=PATH)
        if program is None:
            pytest.skip("There is no mcp-inspector; PGRECALL_TEST_CLIENTS can name its folder.")
        self._program = program
        self._variables = {"PATH": PATH, "HOME": str(home), "NO_PROXY": "127.0.0.1"}
        done = self.run("--version")
        if done.returncode != 0 or done.stdout.startswith("0."):
            pytest.skip(
                "This mcp-inspector does not run here, or sends no headers: it needs version 2 and Node 22."
            )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._program, "--cli", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env=self._variables, cwd=self._variables["HOME"], timeout=PATIENCE, check=False,
        )  # fmt: skip

    def asked(self, server: list[str], *arguments: str) -> dict[str, Any]:
        done = self.run(*arguments, *server)
        assert done.returncode == 0, done.stderr[-2000:]
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def uses(self, server: list[str]) -> None:
        """Lists the tools, whose schemas must suit every client, stores a memory and finds it."""
        listed = self.asked(server, "--method", "tools/list", "--strict")
        assert [one["name"] for one in listed["tools"]] == TOOLS
        call = ("--method", "tools/call", "--tool-name")
        stored = self.asked(server, *call, "remember", "--tool-arg", f"body={BODY}")
        found = self.asked(server, *call, "search", "--tool-arg", "query=where does the ferry berth?", "k=3")
        assert found["structuredContent"]["hits"][0]["id"] == stored["structuredContent"]["id"]


@pytest.fixture
def inspector(tmp_path: Path) -> Inspector:
    return Inspector(tmp_path)


def test_it_uses_our_tools_over_standard_input(inspector: Inspector, database_url: str) -> None:
    ours = environment(database_url=database_url)
    given = [
        f"{name}={value}"
        for name, value in ours.items()
        if name not in os.environ or name.startswith("PGRECALL")
    ]
    inspector.uses([*(part for one in given for part in ("-e", one)), "--", *command()])


def test_it_uses_our_tools_over_http_with_a_key_and_with_a_token(
    inspector: Inspector, database_url: str, memory: Memory
) -> None:
    key = memory.for_tenant("acme").keys.create("inspector").secret
    with serving_oauth(database_url) as served:
        server = ["--server-url", f"{served.url}/mcp", "--header"]
        person = Person(served, key)
        client = registered(served)["client_id"]
        code = values_of(person.decides(person.asked(authorization(client))))["code"]
        token = exchanged(served, client, code).json()["access_token"]
        person.browser.close()
        for secret in (key, token):
            inspector.uses([*server, f"Authorization: Bearer {secret}"])
        refused = inspector.run("--method", "tools/list", *server, "Authorization: Bearer no")
        assert refused.returncode != 0
