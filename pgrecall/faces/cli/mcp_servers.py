"""What the command mcp starts: the server over standard input and output, or over HTTP."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial

from pgrecall import AsyncMemory
from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.commands.serve import require_http_packages
from pgrecall.faces.cli.invocation import GlobalOptions, announce, is_fresh, require_unprivileged
from pgrecall.faces.cli.rendering.console import notes
from pgrecall.faces.mcp.handshake import Handshake
from pgrecall.faces.serving import run_until_stopped
from pgrecall.faces.telemetry.telemetry import Telemetry
from pgrecall.setting_types import LOOPBACK


def serve_stdio(
    given: GlobalOptions,
    handshake: Handshake,
    metrics_port: int | None,
    *,
    only: Collection[str],
    project: tuple[str, bool] | None,
    allowed: bool,
) -> None:
    """Serves one client until standard input ends.

    Args:
        handshake: has answered the client so far.
        metrics_port: port of /metrics; None: there are none.
        only: names of the tools that are served; empty for all.
        project: the project that searches are asked in, and whether only its memories are searched.
        allowed: whether the role may be a superuser.
    """
    from pgrecall.faces.mcp import stdio

    with _stdio_telemetry(metrics_port) as telemetry:
        opened = partial(_open_unprivileged, given, allowed=allowed)
        serving = stdio.serve_stdio(opened, telemetry, only=only, handshake=handshake, project=project)
        asyncio.run(serving)


@contextmanager
def _stdio_telemetry(port: int | None) -> Iterator[Telemetry]:
    """Spans, and metrics at a port if one is given."""
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
    if importlib.util.find_spec("prometheus_client") is None:
        return Telemetry()
    from pgrecall.faces.telemetry.metrics import Metrics

    return Telemetry(metrics=Metrics())


def serve_http(given: GlobalOptions, host: str, port: int, *, allowed: bool) -> None:
    """Serves one tenant to clients on this machine until a signal arrives; ``allowed`` admits superusers.

    Raises:
        InvalidInput: the host is not this machine, or the port is taken.
        DatabaseUnsuitable: row security does not bind the role.
    """
    from pgrecall.faces.mcp.http import PATH, serve_local

    _check_role(given, allowed=allowed)
    if host not in LOOPBACK:
        raise InvalidInput(
            f"--host {host}: without keys, MCP is served to this machine only.",
            hint="`pgrecall serve` has keys and serves MCP at /mcp too.",
        )
    listening = _listening(host, port)
    port = listening.getsockname()[1]

    async def serving() -> None:
        async with await _open(given) as memory:
            notes().print(f"MCP at http://{host}:{port}{PATH}; stop with Ctrl-C.")
            limit = given.settings().http_body_bytes
            await serve_local(memory, listening, _http_telemetry(), body_limit=limit)
        notes().print("stopped")

    with listening:
        run_until_stopped(serving())


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
    settings = given.settings()
    fresh = is_fresh(settings)
    memory = await AsyncMemory(settings=settings).open()
    if fresh and memory.server is not None:
        announce(memory.server)
    await memory.keep_warm()
    return memory
