"""The command that prints the tools for agents without MCP."""

from __future__ import annotations

from pgrecall.integrations.tools import openai_tools
from tests.acceptance.cli.command_tools import Command


def test_the_command_prints_the_schemas(bare_pgrecall: Command) -> None:
    assert bare_pgrecall("tools").json == openai_tools()
    names = [entry["name"] for entry in bare_pgrecall("tools", "--format", "mcp").json]
    assert names == [entry["function"]["name"] for entry in openai_tools()]
