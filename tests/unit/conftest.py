"""Shared by the pure tests."""

from __future__ import annotations

import pytest


@pytest.fixture(params=[False, True], ids=["plain", "numba"])
def accelerate(request: pytest.FixtureRequest) -> bool:
    """Both roads of the graph mathematics: plain Python, and compiled."""
    if request.param:
        pytest.importorskip("numba")
    return bool(request.param)
