"""A pooler in transaction mode in front of the server of the run, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pgrecall.settings import Settings
from tests.acceptance.conftest import bare_pgrecall
from tests.conftest import DIMENSIONS
from tests.given_server import Server
from tests.pooler.bouncer import Bouncer, bouncing
from tests.waiting import PATIENCE

__all__ = ["bare_pgrecall"]


@pytest.fixture(scope="module", params=["untracked", "tracked"])
def pooler(request: pytest.FixtureRequest, server: Server) -> Iterator[Bouncer]:
    """With and without tracking of prepared statements."""
    with bouncing(server.url, tracking=request.param == "tracked") as running:
        yield running


@pytest.fixture
def pooled_url(pooler: Bouncer, database_url: str) -> str:
    """A migrated database of the test's own, through the pooler."""
    return pooler.url(database_url)


@pytest.fixture
def pooled(pooled_url: str) -> Settings:
    return settings_of(pooled_url)


def settings_of(url: str, **changes: object) -> Settings:
    """Settings of tenant acme."""
    values: dict[str, object] = {
        "database_url": url,
        "tenant": "acme",
        "embedder": "hash",
        "embedder_dimensions": DIMENSIONS,
        "connect_timeout": PATIENCE,
        "pool_size": 4,
    }
    return Settings(**(values | changes))
