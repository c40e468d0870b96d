"""Tasks that end properly even if they are cancelled repeatedly.

anyio cancels a task again in every turn of the event loop until it has ended, and MCP and Starlette cancel
through anyio. The second cancellation interrupts psycopg while it asks the server to cancel a statement. Over
a Unix socket the request has been sent by then; over TCP it has not, and the statement would continue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def cancelled_once(work: Coroutine[Any, Any, T]) -> T:
    """Runs work in a separate task, passes on at most one cancellation, and waits for its end."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.cancelling():  # the end of asyncio.run cancels every task
            task.cancel()
        await ended(task)
        raise


async def ended(task: asyncio.Future[Any]) -> None:
    """Waits until a task that nobody else awaits has ended, even if the caller is cancelled."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # marks it as retrieved
