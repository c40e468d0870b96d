"""Deadlines that pass only once the work has come to where a test wants it, however busy the machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from pgrecall.search import deadline
from tests.waiting import until


def not_before(monkeypatch: pytest.MonkeyPatch, arrived: Callable[[threading.Thread], bool]) -> None:
    """The seconds of a deadline count from when the thread of the work has arrived, or has ended."""

    class Beside(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            until(lambda: arrived(self) or not self.is_alive(), "the work before the deadline", pause=0.001)
            super().join(timeout)

    monkeypatch.setattr(deadline, "threading", SimpleNamespace(**{**vars(threading), "Thread": Beside}))
