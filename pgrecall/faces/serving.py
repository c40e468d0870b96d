"""Serving over HTTP until a signal: what `pgrecall serve` and `pgrecall mcp --http` have in common."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from pgrecall.faces.ending import end_process
from pgrecall.faces.telemetry.tracing import Tracing

if TYPE_CHECKING:
    import socket

    from uvicorn import Config

CANCEL_TIMEOUT = 5
"""Seconds that requests have to end once they are cancelled."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run_until_stopped(serving: Awaitable[None]) -> NoReturn:
    """Runs what serves until a signal, and ends the process: with code 0 where it came to its end.

    SIGTERM cancels it, so that it closes what it has opened, until the server takes signals.
    """

    async def run() -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(task.cancel) and None)
        await serving
        Tracing().end()
        end_process(0)  # before asyncio waits for its threads

    with suppress(asyncio.CancelledError):  # stopped before it served
        asyncio.run(run())
    sys.exit(128 + signal.SIGTERM)


async def serve_until_signal(config: Config, listener: socket.socket) -> None:
    """Serves until SIGTERM or Ctrl-C, then finishes running requests in the time of the configuration.

    The process ignores both signals from then on, so that its caller can close what it has opened.
    """
    from uvicorn import Server

    server = Server(config)
    # uvicorn raises the signal that stopped it again, and another may arrive while the client is closed.
    for number in _SIGNALS:
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    await server.serve(sockets=[listener])
    if server.force_exit:  # Ctrl-C twice: nobody has ended what runs
        await server.lifespan.shutdown()
    left = {*server.server_state.tasks}
    for task in left:
        task.cancel()
    if left:  # Postgres is told that nobody waits any more
        await asyncio.wait(left, timeout=CANCEL_TIMEOUT)
