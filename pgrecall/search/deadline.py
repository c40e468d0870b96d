"""Running work with a deadline, whether the work checks a clock or not."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field

from pgrecall.errors import RecallError, RerankerError
from pgrecall.search.foreign_words import described

MAX_LATE_THREADS = 4
"""Threads of one reranker that may still run after their deadline; with as many, no new work starts."""

EXIT_SECONDS = 2.0
"""Seconds that the process waits at exit for late work: native code crashes when the interpreter is gone, but
work that hangs must not delay the end of a command for long."""

IsCancelled = Callable[[], bool]
Work = Callable[[IsCancelled], None]

_HINT = "Search without it, or choose another with PGRECALL_RERANKER."


@dataclass(slots=True)
class _LateThreads:
    """The threads that outlived their deadline, by reranker."""

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
        until = time.monotonic() + EXIT_SECONDS
        for thread in [thread for threads in self.threads.values() for thread in threads]:
            thread.join(max(0.0, until - time.monotonic()))


_late = _LateThreads()


def run_within(seconds: float | None, work: Work, name: str) -> bool:
    """Runs ``work`` and returns whether it finished within ``seconds``; None: in this thread, no limit.

    Late work continues in its own thread until it checks whether it was cancelled, or forever. The caller
    must therefore copy its results.

    Raises:
        RerankerError: the work failed, or too much earlier work of this name is still running.
        RecallError: the work raised it.
    """
    if seconds is None:
        _run_guarded(lambda: work(lambda: False), name)
        return True
    if (late := _late.count(name)) >= MAX_LATE_THREADS:
        raise RerankerError(
            f"The reranker {name} is still busy with {late} calls that missed their deadline.",
            hint="Raise PGRECALL_RERANKER_DEADLINE, or choose a faster model.",
        )
    if seconds <= 0:
        return False
    return _run_in_thread(seconds, work, name)


def _run_in_thread(seconds: float, work: Work, name: str) -> bool:
    cancelled = threading.Event()
    errors: list[RecallError] = []

    def run() -> None:
        try:
            _run_guarded(lambda: work(cancelled.is_set), name)
        except RecallError as error:
            errors.append(error)

    # What counts the questions to a language model is in the context of the caller.
    thread = threading.Thread(
        target=copy_context().run, args=(run,), name=f"pgrecall reranker {name}", daemon=True
    )
    thread.start()
    try:
        thread.join(min(seconds, threading.TIMEOUT_MAX))
    finally:  # Ctrl-C cancels it too
        if thread.is_alive():
            cancelled.set()
            _late.add(name, thread)
    if errors:
        raise errors[0]
    return not cancelled.is_set()


def _run_guarded(work: Callable[[], None], name: str) -> None:
    try:
        work()
    except (RecallError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a model or a caller's function fails in any way, sys.exit included
        raise RerankerError(f"The reranker {name} failed: {described(error)}.", hint=_HINT) from error
