"""The commands mcp and tools: the memory for agents that call tools."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.faces.cli.base import AllowSuperuser, Globals, announce, globals_of, is_fresh, notes, output
from pgrecall.faces.cli.command_line import Context, Option
from pgrecall.faces.cli.json_output import to_text

if TYPE_CHECKING:
    from pgrecall import AsyncMemory

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ToolFormat(StrEnum):
    """Who shall read the schemas of the tools."""

    openai = "openai"
    mcp = "mcp"


def mcp(
    context: Context,
    http: Annotated[
        bool, Option("--http", help="Serve streamable HTTP at /mcp, not standard input and output.")
    ] = False,
    host: Annotated[str, Option(help="With --http: an address of this machine.")] = "127.0.0.1",
    port: Annotated[int, Option(low=0, high=65535, help="With --http: the port; 0: any free one.")] = 8765,
    allow_superuser: AllowSuperuser = False,
) -> None:
    """Serve the memory to an agent over MCP, the Model Context Protocol.

    Editors start it themselves and speak over its standard input and output. With --http it is one server
    for several agents on this machine; for others there is `pgrecall serve`, which asks for keys.
    """
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtra("mcp", "mcp")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    given = globals_of(context)
    if http:
        _require_unprivileged(given, allowed=allow_superuser)
        _serve_http(given, host, port)
    else:
        from pgrecall.faces.mcp.stdio import serve_stdio

        asyncio.run(serve_stdio(lambda: _open_unprivileged(given, allowed=allow_superuser)))


def tools(
    form: Annotated[
        ToolFormat, Option("--format", help="openai: for the API's `tools`; mcp: as `tools/list` says.")
    ] = ToolFormat.openai,
) -> None:
    """Print the tools' JSON Schemas, for agents that call functions without MCP."""
    from pgrecall.tools.formats import mcp_tools, openai_tools

    output().out(to_text(openai_tools() if form is ToolFormat.openai else mcp_tools()))


def _serve_http(given: Globals, host: str, port: int) -> None:
    from pgrecall.faces.mcp.http import PATH, serve_local

    if host not in LOOPBACK:
        raise InvalidInput(
            f"--host {host}: it asks for no keys, so it serves this machine only.",
            hint="`pgrecall serve` has keys and serves MCP at /mcp too.",
        )
    listening = _listening(host, port)
    port = listening.getsockname()[1]

    @asynccontextmanager
    async def opened() -> AsyncIterator[AsyncMemory]:
        memory = await _open(given)
        notes().print(f"MCP at http://{host}:{port}{PATH}; stop with Ctrl-C.")
        try:
            yield memory
        finally:
            await memory.close()

    with listening:
        serve_local(opened, listening)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InvalidInput(
            f"Port {port} of {host} cannot be used: {error.strerror}.", hint="Choose another with --port."
        ) from error


def _require_unprivileged(given: Globals, *, allowed: bool) -> None:
    """Before anything listens; clients of an embedded server are never its superuser."""
    from pgrecall.faces.privileges import say_who_serves

    settings = given.settings()
    if settings.database_url:
        with given.opened() as memory:
            say_who_serves(memory.service.caller(), allowed=allowed or settings.allow_superuser)


async def _open_unprivileged(given: Globals, *, allowed: bool) -> AsyncMemory:
    from pgrecall.faces.privileges import say_who_serves

    memory = await _open(given)
    try:
        say_who_serves(await memory.service.caller(), allowed=allowed or memory.configuration.allow_superuser)
    except BaseException:
        await memory.close()
        raise
    return memory


async def _open(given: Globals) -> AsyncMemory:
    from pgrecall import AsyncMemory

    settings = given.settings()
    fresh = is_fresh(settings)
    memory = await AsyncMemory(settings=settings).open()
    if fresh and memory.server is not None:
        announce(memory.server)
    return memory
