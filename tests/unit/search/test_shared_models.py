"""Models that a process loads once, and a forked one again."""

from __future__ import annotations

import os
import threading

import pytest

from pgrecall.search.model_loading import SharedModels
from tests.waiting import PATIENCE, until


def test_each_is_loaded_once_whoever_asks_first() -> None:
    loaded: list[str] = []
    models = SharedModels[str, str](lambda key: loaded.append(key) or key.upper())
    threads = [threading.Thread(target=models.get, args=[key]) for key in "ab" * 20]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(loaded) == ["a", "b"]
    assert models.get("a") == "A"


def test_what_fails_to_load_is_tried_again() -> None:
    tries = iter([ValueError("broken"), "model"])

    def load(_: str) -> str:
        if isinstance(made := next(tries), Exception):
            raise made
        return made

    models = SharedModels(load)
    with pytest.raises(ValueError, match="broken"):
        models.get("a")
    assert models.get("a") == models.get("a") == "model"


def test_a_child_that_is_forked_during_a_load_loads_its_own() -> None:
    """The lock of the parent stays held in the child, where nobody would release it."""
    begun, going_on, parent = threading.Event(), threading.Event(), os.getpid()

    def load(_: str) -> int:
        if os.getpid() == parent:
            begun.set()
            going_on.wait(PATIENCE)
        return os.getpid()

    models = SharedModels(load)
    loading = threading.Thread(target=models.get, args=["a"])
    loading.start()
    assert begun.wait(PATIENCE)
    if (child := os.fork()) == 0:
        os._exit(0 if models.get("a") == os.getpid() else 1)
    try:
        ended = until(lambda: (done := os.waitpid(child, os.WNOHANG))[0] and done, "the end of the child")
        assert os.waitstatus_to_exitcode(ended[1]) == 0
    finally:
        going_on.set()
        loading.join()
    assert models.get("a") == parent
