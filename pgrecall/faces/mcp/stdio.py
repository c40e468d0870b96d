"""The MCP server over standard input and output, for one client.

Standard output carries only the protocol: anything else written there goes to standard error.
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
from pgrecall.errors import RecallError
from pgrecall.faces.mcp.server import Request, build_server
from pgrecall.faces.telemetry.telemetry import Telemetry


class LazyClient:
    """A client that opens while the first requests run, and retries at the next request when that failed.

    Editors wait only so long for a server's first response, and an embedded Postgres takes seconds to start.
    """

    def __init__(self, open_memory: Callable[[], Awaitable[AsyncMemory]]) -> None:
        self._open = open_memory
        self._task: asyncio.Future[AsyncMemory] | None = None

    def start(self) -> None:
        """Begins to open the client, unless it is open or opening."""
        if self._task is None or (self._task.done() and self._task.exception() is not None):
            self._task = asyncio.ensure_future(self._open())

    async def get(self) -> AsyncMemory:
        """The open client. Cancelling this does not cancel the opening.

        Raises:
            RecallError: it cannot be opened.
        """
        self.start()
        assert self._task is not None
        return await asyncio.shield(self._task)

    async def close(self) -> None:
        """Closes the client, or cancels its opening."""
        if self._task is None:
            return
        self._task.cancel()  # does nothing once it is open
        try:
            memory = await self._task
        except (RecallError, asyncio.CancelledError):
            return  # a request has reported it
        await memory.close()


async def serve_stdio(
    open_memory: Callable[[], Awaitable[AsyncMemory]], telemetry: Telemetry | None = None
) -> None:
    """Serves until standard input ends or a signal arrives, then closes the client.

    Args:
        telemetry: counts and traces calls; None: only traces.
    """
    observing = telemetry or Telemetry()
    client = LazyClient(open_memory)
    calls: set[asyncio.Task[Any]] = set()
    session = f"mcp-{uuid.uuid4().hex}"  # a process serves one conversation

    async def memory_for(_: Request) -> AsyncMemory:
        call = asyncio.current_task()
        assert call is not None
        calls.add(call)
        call.add_done_callback(calls.discard)
        return await client.get()

    server = build_server(memory_for, lambda _: session, observing)
    client.start()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_exit_on_signal, calls, client, observing)
        try:
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
        finally:
            tasks.cancel_scope.cancel()
    await client.close()


async def _exit_on_signal(calls: set[asyncio.Task[Any]], client: LazyClient, telemetry: Telemetry) -> None:
    """Cancels running calls, so that Postgres stops working on them, and ends the process."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            running = set(calls)
            for call in running:
                call.cancel()
            if running:
                await asyncio.wait(running)
            await client.close()
            telemetry.tracing.flush()
            # A thread blocks on standard input, and only the end of that input would end the thread.
            os._exit(128 + number)
