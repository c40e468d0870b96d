"""One client over standard input and output, until it closes its end.

Standard output belongs to the protocol: while it is served, whatever else writes there goes to standard
error.
"""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Awaitable, Callable

import anyio
from mcp.server.stdio import stdio_server

from pgrecall.client import AsyncMemory
from pgrecall.faces.mcp.opening import Opening
from pgrecall.faces.mcp.server import make_server


async def serve_stdio(open_memory: Callable[[], Awaitable[AsyncMemory]]) -> None:
    """Serves until standard input ends; then, or when told to stop, the client is closed."""
    opening = Opening(open_memory)
    session = f"mcp-{uuid.uuid4().hex}"  # a process serves one conversation
    server = make_server(lambda _: opening.memory(), lambda _: session)
    opening.begin()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_when_told, opening)
        try:
            async with stdio_server() as (requests, answers):
                await server.run(requests, answers, server.create_initialization_options())
        finally:
            tasks.cancel_scope.cancel()
    await opening.close()


async def _end_when_told(opening: Opening) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            await opening.close()
            # A thread waits for standard input, and nothing but its end would end that thread.
            os._exit(128 + number)
