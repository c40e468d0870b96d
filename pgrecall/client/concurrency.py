"""Pairs of functions that differ between both clients; ``generate_sync.py`` replaces one by the other."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from pgrecall.database.cancelling import ended

T = TypeVar("T")

AsyncLock = asyncio.Lock
Lock = threading.Lock

async_sleep = asyncio.sleep
sync_sleep = time.sleep


_left: ContextVar[set[asyncio.Future[Any]] | None] = ContextVar("threads_left", default=None)


@contextmanager
def threads_left() -> Iterator[set[asyncio.Future[Any]]]:
    """Collects the work that goes on in threads after the tasks that waited for it were cancelled.

    A service that counts what a caller occupies must count these threads as well.
    """
    threads: set[asyncio.Future[Any]] = set()
    token = _left.set(threads)
    try:
        yield threads
    finally:
        _left.reset(token)


async def async_run(work: Callable[[], T], give_up: Callable[[], None] | None = None) -> T:
    """Runs blocking work in a thread, so that the event loop goes on.

    Args:
        give_up: called when the task is cancelled meanwhile; the cancellation then waits for the work to end.
            Without it the thread is left to end by itself.
    """
    left = _left.get()
    if give_up is None and left is None:
        return await asyncio.to_thread(work)
    thread = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        if give_up is not None:
            give_up()
            await ended(thread)
        elif left is not None and not thread.done():
            thread.add_done_callback(lambda done: done.exception())
            left.add(thread)
        raise


def sync_run(work: Callable[[], T], give_up: Callable[[], None] | None = None) -> T:  # noqa: ARG001 (of the pair)
    """Runs blocking work directly. It cannot be cancelled, so ``give_up`` is never called."""
    return work()
