"""The commands mcp and tools: the memory for agents that call tools."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.faces.cli.commands.serve import require_http_packages
from pgrecall.faces.cli.invocation import (
    GlobalOptions,
    announce,
    is_fresh,
    pass_globals,
    require_unprivileged,
)
from pgrecall.faces.cli.options import TEXT, allow_superuser_option
from pgrecall.faces.cli.rendering.console import notes, print_json

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.telemetry.telemetry import Telemetry


@click.command("mcp")
@click.option(
    "--http", is_flag=True, help="Serve streamable HTTP at /mcp instead of standard input and output."
)
@click.option("--host", default="127.0.0.1", help="With --http: address of this machine to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    metavar="PORT",
    help="With --http: port; 0 takes a free one.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Without --http: also answer /metrics, /healthz and /readyz at this port of 127.0.0.1; 0 takes a "
    "free one. With --http, /metrics is next to /mcp.",
)
@click.option(
    "--tool", "only", type=TEXT, multiple=True, metavar="NAME",
    help="Without --http: serve only this tool; may be repeated. By default all; their schemas are part of "
    "each request of an editor.",
)  # fmt: skip
@allow_superuser_option
@pass_globals
def mcp(
    given: GlobalOptions,
    http: bool,
    host: str,
    port: int,
    metrics_port: int | None,
    only: tuple[str, ...],
    allow_superuser: bool,
) -> None:
    """Serve the memory to an agent over MCP, the Model Context Protocol.

    Editors start it themselves and talk to it over standard input and output. With --http, one server serves
    several agents on this machine; `pgrecall serve` serves other machines and requires keys.
    """
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtra("mcp", "mcp")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    if http and metrics_port is not None:
        raise InvalidInput(
            "With --http, /metrics is at the port of the server.", hint="Leave --metrics-port out."
        )
    if http and only:
        raise InvalidInput("--tool is for standard input and output.", hint="Leave --http or --tool out.")
    if only:
        from pgrecall.tools.catalogue import get_tool

        for name in only:
            get_tool(name)
    if http:
        _check_role(given, allowed=allow_superuser)
        _serve_http(given, host, port)
    else:
        from pgrecall.faces.mcp.stdio import serve_stdio

        with _stdio_telemetry(metrics_port) as telemetry:
            opened = partial(_open_unprivileged, given, allowed=allow_superuser)
            asyncio.run(serve_stdio(opened, telemetry, only=only))


@click.command("tools")
@click.option(
    "--format",
    "form",
    type=click.Choice(("openai", "mcp")),
    default="openai",
    help="Schemas as OpenAI's API takes `tools`, or as MCP lists them.",
)
def tools(form: str) -> None:
    """Print the JSON Schemas of the tools, for agents that call functions without MCP."""
    from pgrecall.tools.catalogue import mcp_tools, openai_tools

    print_json(openai_tools() if form == "openai" else mcp_tools())


@contextmanager
def _stdio_telemetry(port: int | None) -> Iterator[Telemetry]:
    """Spans, and metrics at a port if one is given."""
    from pgrecall.faces.telemetry.telemetry import Telemetry

    if port is None:
        yield Telemetry()
        return
    require_http_packages()
    from pgrecall.faces.http.endpoint import metrics_endpoint
    from pgrecall.faces.telemetry.metrics import Metrics

    metrics = Metrics()
    with metrics_endpoint("127.0.0.1", port, metrics, lambda: ()) as address:
        notes().print(f"Metrics and probes: {address}")
        yield Telemetry(metrics=metrics)


def _http_telemetry() -> Telemetry:
    """Spans, and metrics where what they need is installed."""
    from pgrecall.faces.telemetry.telemetry import Telemetry

    if importlib.util.find_spec("prometheus_client") is None:
        return Telemetry()
    from pgrecall.faces.telemetry.metrics import Metrics

    return Telemetry(metrics=Metrics())


def _serve_http(given: GlobalOptions, host: str, port: int) -> None:
    from pgrecall.faces.http.access_policy import LOOPBACK
    from pgrecall.faces.mcp.http import PATH, serve_local

    if host not in LOOPBACK:
        raise InvalidInput(
            f"--host {host}: without keys, MCP is served to this machine only.",
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
        serve_local(opened, listening, _http_telemetry(), body_limit=given.settings().http_body_bytes)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InvalidInput(
            f"Port {port} of {host} cannot be used: {error.strerror}.", hint="Choose another with --port."
        ) from error


def _check_role(given: GlobalOptions, *, allowed: bool) -> None:
    """Checks the role before anything listens; clients of an embedded server are never its superuser."""
    settings = given.settings()
    if settings.database_url:
        with given.opened() as memory:
            require_unprivileged(memory.service.caller(), allowed=allowed or settings.allow_superuser)


async def _open_unprivileged(given: GlobalOptions, *, allowed: bool) -> AsyncMemory:
    memory = await _open(given)
    try:
        require_unprivileged(
            await memory.service.caller(), allowed=allowed or memory.configuration.allow_superuser
        )
    except BaseException:
        await memory.close()
        raise
    return memory


async def _open(given: GlobalOptions) -> AsyncMemory:
    from pgrecall import AsyncMemory

    settings = given.settings()
    fresh = is_fresh(settings)
    memory = await AsyncMemory(settings=settings).open()
    if fresh and memory.server is not None:
        announce(memory.server)
    return memory
