"""The snippets for clients start a server that serves."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import StdioServerParameters

from tests.acceptance.cli.command_tools import environment
from tests.acceptance.docs.doc_blocks import ROOT, blocks_of
from tests.acceptance.mcp.mcp_tools import TOOLS, command, connected, run, served_over_http

pytestmark = pytest.mark.in_turns

PAGE = ROOT / "docs" / "howto" / "mcp.md"


def entries() -> Iterator[dict[str, Any]]:
    """What each snippet says of the server: a command with arguments, or an address."""
    for block in blocks_of(PAGE):
        if block.language == "json":
            [servers] = json.loads(block.text).values()
            [(name, entry)] = servers.items()
            assert name == "pgrecall"
            yield entry
        for line in block.commands if block.language == "sh" else ():
            given = shlex.split(line)
            head, *rest = given[given.index("--") + 1 :]
            yield {"command": head, "args": rest}


CHILDREN = [entry for entry in entries() if "command" in entry]
ADDRESSES = [entry for entry in entries() if "url" in entry]


def test_the_page_has_snippets_of_both_kinds() -> None:
    assert len(CHILDREN) >= 3
    assert len(ADDRESSES) == 1


@pytest.mark.parametrize("entry", CHILDREN, ids=lambda entry: f"{len(entry)} fields")
def test_a_snippet_starts_a_server(entry: dict[str, Any], database_url: str) -> None:
    assert [entry["command"], *entry["args"]] == ["pgrecall", "mcp"]
    names = set(entry.get("env", {}))
    assert names <= {"PGRECALL_DATABASE_URL", "PGRECALL_TENANT"}
    asked = environment() | entry.get("env", {}) | {"PGRECALL_DATABASE_URL": database_url}
    head, *rest = command()
    server = StdioServerParameters(command=head, args=rest, env=asked)

    async def scenario() -> None:
        async with connected(server) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            status = await client.call_tool("status", {})
            assert status.structured_content["tenant"] == entry.get("env", {}).get(
                "PGRECALL_TENANT", "default"
            )

    run(scenario())


def test_the_address_is_the_one_that_is_served(database_url: str) -> None:
    [entry] = ADDRESSES
    with served_over_http(database_url) as address:
        assert re.sub(r":\d+/", ":8765/", address) == entry["url"]


def test_the_table_names_every_tool() -> None:
    rows = re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \|", PAGE.read_text(encoding="utf-8"), re.M)
    told = [name for row in rows for name in re.findall("[a-z_]+", row)]
    assert sorted(told) == sorted(TOOLS)
