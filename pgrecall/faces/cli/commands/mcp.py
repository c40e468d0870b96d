"""The commands mcp and tools: the memory for agents that call tools."""

from __future__ import annotations

import importlib.util
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.faces.cli.invocation import GlobalOptions, allow_superuser_option, pass_globals

if TYPE_CHECKING:
    from pgrecall.importers.projects import Scope


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
    "--tools", "tool_set", type=click.Choice(("core", "all")), default="all",
    help="Without --http: serve all tools, or search, context, remember, used and forget. Their schemas are "
    "part of each request of an editor.",
)  # fmt: skip
@click.option(
    "--tool", "only", multiple=True, metavar="NAME",
    help="Without --http: serve only this tool, and those of --tools core; may be repeated.",
)  # fmt: skip
@click.option(
    "--scope", type=click.Choice(("prefer", "project", "all")), default="prefer",
    help="Without --http: prefer the memories of the project of the current folder, search only them, or "
    "treat all projects alike.",
)  # fmt: skip
@allow_superuser_option
@pass_globals
def mcp(
    given: GlobalOptions,
    http: bool,
    host: str,
    port: int,
    metrics_port: int | None,
    tool_set: str,
    only: tuple[str, ...],
    scope: Scope,
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
    if http and (only or tool_set == "core"):
        option = "--tool" if only else "--tools"
        raise InvalidInput(
            f"{option} is for standard input and output.", hint=f"Leave --http or {option} out."
        )
    if http:
        from pgrecall.faces.cli.mcp_servers import serve_http

        serve_http(given, host, port, allowed=allow_superuser)
    else:
        from pgrecall.faces.mcp.handshake import CORE, Handshake

        only = (*CORE, *only) if tool_set == "core" else only
        handshake = Handshake(only)
        handshake.start()
        # These imports take seconds. Meanwhile the handshake answers.
        from pgrecall.faces.cli.mcp_servers import serve_stdio
        from pgrecall.importers.projects import scoped

        project = scoped(_current_folder(), scope)
        if project is None and scope == "project":
            raise InvalidInput(
                "The current folder belongs to no project.", hint="Leave out --scope, or start in a project."
            )
        serve_stdio(given, handshake, metrics_port, only=only, project=project, allowed=allow_superuser)


def _current_folder() -> Path | None:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was removed
        return None


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
    from pgrecall.faces.cli.rendering.console import print_json
    from pgrecall.tools.catalogue import mcp_tools, openai_tools

    print_json(openai_tools() if form == "openai" else mcp_tools())
