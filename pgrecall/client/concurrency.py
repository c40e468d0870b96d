"""What differs between the two clients beyond the keywords, in pairs that ``generate_sync.py`` exchanges."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

AsyncLock = asyncio.Lock
Lock = threading.Lock

async_sleep = asyncio.sleep
sync_sleep = time.sleep


async def async_run(work: Callable[[], T], give_up: Callable[[], None] | None = None) -> T:
    """Runs blocking work in a thread, so that the event loop goes on.

    Args:
        give_up: called when the task is cancelled meanwhile; the cancellation then waits for the work to end.
            Without it the thread is left to end by itself.
    """
    if give_up is None:
        return await asyncio.to_thread(work)
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        give_up()
        await asyncio.wait([thread])
        thread.exception()  # marks its exception as retrieved: nobody awaits it any more
        raise


def sync_run(work: Callable[[], T], give_up: Callable[[], None] | None = None) -> T:  # noqa: ARG001 (of the pair)
    """Runs blocking work at once. It cannot be cancelled, so ``give_up`` is never called."""
    return work()
