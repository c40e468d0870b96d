"""The other side of a request: what it sends, and whether it is still there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

T = TypeVar("T")

LINGER = 1.0
"""Seconds for which what a refused caller still sends is thrown away, so that it can read why."""


class Caller:
    """Who sent a request. Its body is read at most once, and only as far as it is asked for."""

    def __init__(self, request: Request) -> None:
        self._receive = request.receive
        self._kept: list[Message] = []
        self._all_here = False

    async def while_here(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work that is cancelled, and waited for, when the caller goes away.

        Raises:
            ClientDisconnect: it went away.
        """
        working = asyncio.create_task(work)
        gone = asyncio.create_task(self._gone())
        try:
            await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                working.cancel()
                await asyncio.wait({working})
            if working.cancelled():
                raise ClientDisconnect
            return working.result()
        finally:
            for task in (working, gone):
                task.cancel()
            await asyncio.wait({working, gone})

    async def body(self, limit: int, patience: float) -> bytes:
        """All it sends, within so many bytes and seconds.

        Raises:
            HTTPException: 413 or 408.
            ClientDisconnect: it went away.
        """
        body = bytearray()
        try:
            async with asyncio.timeout(patience):
                while self._kept or not self._all_here:
                    body += (await self._next()).get("body", b"")
                    if len(body) > limit:
                        raise too_large(limit)
        except TimeoutError:
            raise HTTPException(408, f"The request had not arrived after {patience:g} seconds.") from None
        return bytes(body)

    async def hears(self) -> bool:
        """Throws away what a refused caller still sends, for a while; whether that was all of it."""
        try:
            async with asyncio.timeout(LINGER):
                while not self._all_here:
                    await self._more()
        except (TimeoutError, ClientDisconnect):
            return False
        return True

    async def _next(self) -> Message:
        return self._kept.pop(0) if self._kept else await self._more()

    async def _more(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        self._all_here = not message.get("more_body", False)
        return message

    async def _gone(self) -> None:
        """Returns when the caller is gone; of one that is still sending only the first piece is looked at."""
        if not self._all_here and not self._kept:
            try:
                self._kept.append(await self._more())
            except ClientDisconnect:
                return
        if not self._all_here:
            await asyncio.Event().wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


def too_large(limit: int) -> HTTPException:
    """The refusal of a body that is larger than it may be."""
    return HTTPException(413, f"The body is larger than {limit:,} bytes; send less at a time.")


def replayed(body: bytes) -> Receive:
    """A way to receive a body that is here already."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
