"""How long-running commands are told to stop: SIGTERM or Ctrl-C sets an event, work ends in order."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_on_signals() -> Iterator[Event]:
    """An event that the first SIGTERM or SIGINT sets; a second one acts as it would have without this."""
    stop = Event()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def told(*_: object) -> None:
        restore()
        # From another thread: the main one, which runs this handler, may be inside the event's own lock.
        Thread(target=stop.set, daemon=True).start()

    for number in _SIGNALS:
        signal.signal(number, told)
    try:
        yield stop
    finally:
        restore()
