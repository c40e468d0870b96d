"""Limits of requests: how large and how slow a body may be, and what happens when the client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from pgrecall.faces.http.bodies_in_flight import TakePart

T = TypeVar("T")

MAX_PATH_BYTES = 2000
"""Of the path that signing in to the page leads to: percent-encoded, it still fits in the form."""

DRAIN_SECONDS = 1.0
"""How long the rest of a refused request is read, so that its client gets to read the response."""


class ClientConnection:
    """The client's side of a request. The body is read at most once, and only on demand."""

    def __init__(self, request: Request) -> None:
        self._receive = request.receive
        self._buffer: list[Message] = []
        self._complete = False

    async def run_until_disconnect(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine; when the client disconnects, cancels it and waits for its end.

        Raises:
            ClientDisconnect: the client went away first.
        """
        task = asyncio.create_task(work)
        disconnect = asyncio.create_task(self._wait_for_disconnect())
        try:
            await asyncio.wait({task, disconnect}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if task.cancelled():
                raise ClientDisconnect
            return task.result()
        finally:
            for each in (task, disconnect):
                each.cancel()
            await asyncio.wait({task, disconnect})

    async def read_body(self, limit: int, timeout: float, take: TakePart) -> bytes:
        """The whole body, of at most ``limit`` bytes, within ``timeout`` seconds.

        Args:
            take: counts each part.

        Raises:
            HTTPException: 413, 408, or what ``take`` raises.
            ClientDisconnect: the client went away.
        """
        body = bytearray()
        try:
            async with asyncio.timeout(timeout):
                while self._buffer or not self._complete:
                    part = (await self._next()).get("body", b"")
                    if len(body) + len(part) > limit:
                        raise body_too_large(limit)
                    take(part)
                    body += part
        except TimeoutError:
            raise HTTPException(408, f"The request did not arrive within {timeout:g} seconds.") from None
        return bytes(body)

    async def drain(self) -> bool:
        """Reads and drops the rest of the body for a while; returns whether the body ended."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self._complete:
                    await self._receive_body()
        except (TimeoutError, ClientDisconnect):
            return False
        return True

    async def _next(self) -> Message:
        return self._buffer.pop(0) if self._buffer else await self._receive_body()

    async def _receive_body(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        self._complete = not message.get("more_body", False)
        return message

    async def _wait_for_disconnect(self) -> None:
        """While a body is still arriving, only its first part is read: no disconnect shows behind it."""
        if not self._complete and not self._buffer:
            try:
                self._buffer.append(await self._receive_body())
            except ClientDisconnect:
                return
        if not self._complete:
            await asyncio.Event().wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


def body_too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"The body is larger than {limit:,} bytes; send smaller requests.")


def replay(body: bytes) -> Receive:
    """An ASGI receive function for a body that was read already."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
