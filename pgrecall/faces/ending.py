"""The end of a process: at a signal, and at once though threads are at work."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import NoReturn

GRACE = 8.0
"""Seconds that work has to end after a signal; service managers kill after ten."""


def end_process(code: int) -> NoReturn:
    """Ends the process at once, though threads are at work.

    Python would wait for them, and nobody can cancel a model that is loading or a call of an embedder.
    Connections and the embedded server must be closed before, where they can be.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # whoever reads it may have gone
            stream.flush()
    os._exit(code)


@contextmanager
def stop_on_signals(*, grace: float | None = None) -> Iterator[Event]:
    """An event that the first SIGTERM or SIGINT sets; a second one acts as it would have without this.

    KeyboardInterrupt would not do: it appears between any two instructions, so it can leave the lock of a
    pool held for ever, and is lost where a finalizer runs.

    Args:
        grace: seconds after which the process ends with code 0 though the block has not; None waits for it.
    """
    stop, ended = Event(), Event()
    reading, writing = os.pipe()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def handle(*_: object) -> None:
        restore()
        os.write(writing, b"!")  # this may run inside the event's own lock, so another thread sets it

    def set_when_asked() -> None:
        if os.read(reading, 1):
            stop.set()
            if grace is not None and not ended.wait(grace):
                end_process(0)
        os.close(reading)

    Thread(target=set_when_asked, daemon=True).start()
    for number in before:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        restore()
        ended.set()
        os.close(writing)
