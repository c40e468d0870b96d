"""MCP servers as processes, and the SDK's own client to speak with them."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from tests.acceptance.cli.command_tools import command_line, environment
from tests.waiting import PATIENCE, until

T = TypeVar("T")
TOOLS = [
    "search", "context", "get", "remember", "used", "link", "supersede", "forget", "prune_plan",
    "dedupe_plan", "status",
    "history", "diff", "restore", "changes",
]  # fmt: skip


def command(*arguments: str) -> list[str]:
    return [*map(os.fsdecode, command_line("mcp", *arguments))]


def over_stdio(database_url: str, **settings: str) -> StdioServerParameters:
    """How a client starts a server of its own."""
    head, *rest = command()
    return StdioServerParameters(
        command=head, args=rest, env=environment(database_url=database_url, **settings), cwd="/"
    )


@contextmanager
def served_over_http(database_url: str, **settings: str) -> Iterator[str]:
    """The address of a server that is ended afterwards."""
    process = subprocess.Popen(
        command("--http", "--port", "0"),
        env=environment(database_url=database_url, **settings),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        assert said.startswith("MCP at http://"), said + process.stderr.read()
        yield said.split()[2].rstrip(";")
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Runs it; what failed in it is raised without the task groups of the client around it."""
    try:
        return asyncio.run(scenario)
    except BaseExceptionGroup as group:
        failed = list(_leaves(group))
        raise next((one for one in failed if isinstance(one, AssertionError)), failed[0]) from None


def _leaves(failed: BaseException) -> Iterator[BaseException]:
    if isinstance(failed, BaseExceptionGroup):
        for one in failed.exceptions:
            yield from _leaves(one)
    else:
        yield failed


@asynccontextmanager
async def connected(server: StdioServerParameters | str, mode: str = "auto") -> AsyncIterator[Client]:
    async with Client(server, mode=mode, read_timeout_seconds=200) as client:
        yield client


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool returns, which its text says too."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    document: dict[str, Any] = result.structured_content
    return document


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The sentence by which a tool refuses."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert content.type == "text"
    return content.text


async def eventually(holds: Callable[[], bool], what: str) -> None:
    """Waits until something holds that another process brings about."""
    await asyncio.to_thread(until, holds, what)
