"""The MCP server over standard input and output, for one client.

Standard output carries only the protocol: anything else written there goes to standard error.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import Any, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCResponse
from pydantic import ValidationError

from pgrecall import AsyncMemory
from pgrecall.errors import RecallError
from pgrecall.faces.ending import end_process
from pgrecall.faces.mcp.handshake import Handshake
from pgrecall.faces.mcp.server import Request, build_server
from pgrecall.faces.telemetry.telemetry import Telemetry

_Streams: TypeAlias = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]

_NOT_UNDERSTOOD = (
    "This line is no message of JSON-RPC 2.0. Send one JSON object in each line, with an id that is a number "
    "or a text, and with numbers and nesting that can be read."
)


def _refusal(error: Exception) -> SessionMessage:
    """The answer to a line that is no message.

    JSON-RPC 2.0 and MCP want the id of the request, and null only where it cannot be read: the line is no
    JSON, or is not one object with a method and an id.
    """
    found = error.errors() if isinstance(error, ValidationError) else []
    # As a request has no result, its refusal as a response contains all of it.
    lines = [one["input"] for one in found if one["type"] == "missing" and isinstance(one["input"], dict)]
    number = next((line.get("id") for line in lines if "method" in line), None)
    readable = isinstance(number, str) or (isinstance(number, int) and not isinstance(number, bool))
    no_json = any(one["type"] == "json_invalid" for one in found)
    refused = ErrorData(code=PARSE_ERROR if no_json else INVALID_REQUEST, message=_NOT_UNDERSTOOD)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=number if readable else None, error=refused))


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
    open_memory: Callable[[], Awaitable[AsyncMemory]],
    telemetry: Telemetry | None = None,
    *,
    only: Collection[str] = (),
    handshake: Handshake | None = None,
    project: tuple[str, bool] | None = None,
) -> None:
    """Serves until standard input ends or a signal arrives, then closes the client and ends the process.

    Args:
        telemetry: counts and traces calls; None: only traces.
        only: names of the tools that are served; empty for all.
        handshake: has answered the first requests; None: nobody has.
        project: the project that searches are asked in, and whether only its memories are searched.
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
        memory = await client.get()
        return memory if project is None else memory.for_project(project[0], only=project[1])

    server = build_server(memory_for, lambda _: session, observing, only=only)
    client.start()
    answers = os.dup(1)  # before the SDK diverts it
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_exit_on_signal, calls, client, observing)
        tasks.start_soon(_exit_when_unread, answers, calls, client, observing)
        try:
            async with _answering_all(handshake.finish() if handshake else None) as (read, write):
                await server.run(read, write, server.create_initialization_options())
        finally:
            tasks.cancel_scope.cancel()
    await _exit(0, calls, client, observing)


@asynccontextmanager
async def _answering_all(answered: int | str | None) -> AsyncIterator[_Streams]:
    """Standard input and output, where a line that is no message is answered too.

    The SDK drops such a line. If it was meant as a request, its client would wait forever. ``answered`` is
    the id of the request whose result the client has already; None: it has none.
    """
    async with stdio_server() as (lines, write), anyio.create_task_group() as tasks:
        passed_on, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
        results, passed_back = anyio.create_memory_object_stream[SessionMessage]()

        async def pass_on() -> None:
            async with passed_on:
                async for line in lines:
                    if isinstance(line, Exception):
                        await results.send(_refusal(line))
                    else:
                        await passed_on.send(line)

        async def pass_back() -> None:
            left_out = answered
            async with write:
                async for result in passed_back:
                    if isinstance(result.message, JSONRPCResponse) and result.message.id == left_out:
                        left_out = None
                    else:
                        await write.send(result)

        tasks.start_soon(pass_on)
        tasks.start_soon(pass_back)
        yield read, results


async def _exit_on_signal(calls: set[asyncio.Task[Any]], client: LazyClient, telemetry: Telemetry) -> None:
    """Ends the process on a signal; Postgres stops working on its calls."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            await _exit(128 + number, calls, client, telemetry)


async def _exit_when_unread(
    answers: int, calls: set[asyncio.Task[Any]], client: LazyClient, telemetry: Telemetry
) -> None:
    """Ends the process when its client reads no more answers, idle or not.

    The SDK learns of it by writing, and then waits for a line on standard input.
    """
    if not hasattr(select, "poll"):  # on Windows
        return
    unread = asyncio.Event()
    loop = asyncio.get_running_loop()

    def watch() -> None:
        poll = select.poll()
        poll.register(answers, 0)  # errors and hang-ups are always reported
        poll.poll()
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(unread.set)

    Thread(target=watch, daemon=True).start()
    await unread.wait()
    await _exit(0, calls, client, telemetry)


async def _exit(code: int, calls: set[asyncio.Task[Any]], client: LazyClient, telemetry: Telemetry) -> None:
    """Cancels running calls and ends the process: a thread would keep it that blocks on standard input, loads
    a model or waits for an embedder."""
    running = set(calls)
    for call in running:
        call.cancel()
    if running:
        await asyncio.wait(running)
    await client.close()
    telemetry.tracing.end()
    end_process(code)
