"""A service for the plugins of agents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.http.http_tools import member, serving

SECRET = "ghp_" + "Zq7Xw2Lk9" * 4


@pytest.fixture
def keyed(database_url: str) -> Iterator[dict[str, str]]:
    """A service of the test's database, as the variables that plugins read."""
    with member(database_url) as memory:
        key = memory.keys.create("agent").secret
    with serving(database_url) as served:
        yield {"PGRECALL_SERVICE_URL": served.url, "PGRECALL_KEY": key}
