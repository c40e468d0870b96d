"""Work that is given up at a deadline, whether it looks at a clock or not."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pgrecall.errors import RecallError, RerankerError

MOST_LATE = 4
"""Works of one name that may still run after their deadline; beyond them no new one is begun."""

AT_EXIT = 2.0
"""Seconds that the end of the process waits for late work: native code dies badly under an interpreter
that is gone, and work that hangs must not keep a command from ending."""

GivenUp = Callable[[], bool]
Work = Callable[[GivenUp], None]

_WAY_OUT = "Search without it, or choose another with PGRECALL_RERANKER."


@dataclass(slots=True)
class _Late:
    """The threads that outlived their deadline, by the name of whose work they do."""

    threads: dict[str, list[threading.Thread]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    awaited: bool = False

    def count(self, name: str) -> int:
        with self.lock:
            alive = [thread for thread in self.threads.get(name, ()) if thread.is_alive()]
            self.threads[name] = alive
            return len(alive)

    def add(self, name: str, thread: threading.Thread) -> None:
        with self.lock:
            self.threads.setdefault(name, []).append(thread)
            if not self.awaited:
                atexit.register(self.wait)
                self.awaited = True

    def wait(self) -> None:
        until = time.monotonic() + AT_EXIT
        for thread in [thread for threads in self.threads.values() for thread in threads]:
            thread.join(max(0.0, until - time.monotonic()))


_late = _Late()


def run_within(seconds: float | None, work: Work, name: str) -> bool:
    """Whether ``work`` came back within ``seconds``; None waits for it, in this thread.

    Work that is late goes on in a thread of its own until it asks whether it was given up, or for
    good: what it leaves behind must be read as a snapshot.

    Raises:
        RerankerError: the work failed, or too much earlier work of this name is still running.
        RecallError: the work raised it.
    """
    if seconds is None:
        _guarded(lambda: work(lambda: False), name)
        return True
    if (late := _late.count(name)) >= MOST_LATE:
        raise RerankerError(
            f"The reranker {name} is still busy with {late} calls that missed their deadline.",
            hint="Raise PGRECALL_RERANKER_DEADLINE, or choose a faster model.",
        )
    if seconds <= 0:
        return False
    return _run_beside(seconds, work, name)


def _run_beside(seconds: float, work: Work, name: str) -> bool:
    given_up = threading.Event()
    errors: list[RecallError] = []

    def run() -> None:
        try:
            _guarded(lambda: work(given_up.is_set), name)
        except RecallError as error:
            errors.append(error)

    thread = threading.Thread(target=run, name=f"pgrecall reranker {name}", daemon=True)
    thread.start()
    try:
        thread.join(min(seconds, threading.TIMEOUT_MAX))
    finally:  # Ctrl-C gives it up too
        if thread.is_alive():
            given_up.set()
            _late.add(name, thread)
    if errors:
        raise errors[0]
    return not given_up.is_set()


def _guarded(work: Callable[[], None], name: str) -> None:
    try:
        work()
    except (RecallError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a model or a caller's function fails in any way, sys.exit included
        raise RerankerError(f"The reranker {name} failed: {_said(error)}.", hint=_WAY_OUT) from error


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__
