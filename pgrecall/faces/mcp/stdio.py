"""One client over standard input and output, until it closes its end.

Standard output belongs to the protocol: while it is served, whatever else writes there goes to standard
error.
"""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from pgrecall import AsyncMemory
from pgrecall.faces.mcp.lazy_client import Opening
from pgrecall.faces.mcp.server import Request, make_server


async def serve_stdio(open_memory: Callable[[], Awaitable[AsyncMemory]]) -> None:
    """Serves until standard input ends; then, or when told to stop, the client is closed."""
    opening = Opening(open_memory)
    calls: set[asyncio.Task[Any]] = set()
    session = f"mcp-{uuid.uuid4().hex}"  # a process serves one conversation

    async def memory_of(_: Request) -> AsyncMemory:
        call = asyncio.current_task()
        assert call is not None
        calls.add(call)
        call.add_done_callback(calls.discard)
        return await opening.memory()

    server = make_server(memory_of, lambda _: session)
    opening.begin()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_when_told, calls, opening)
        try:
            async with stdio_server() as (requests, answers):
                await server.run(requests, answers, server.create_initialization_options())
        finally:
            tasks.cancel_scope.cancel()
    await opening.close()


async def _end_when_told(calls: set[asyncio.Task[Any]], opening: Opening) -> None:
    """At a signal calls off what is under way, so that Postgres need not finish it, and ends the process."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            under_way = set(calls)
            for call in under_way:
                call.cancel()
            if under_way:
                await asyncio.wait(under_way)
            await opening.close()
            # A thread waits for standard input, and nothing but its end would end that thread.
            os._exit(128 + number)
