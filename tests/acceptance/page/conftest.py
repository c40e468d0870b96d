"""What the files that drive Chromium share: a browser, a database, and a client beside the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pgrecall import Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from tests.acceptance.http.http_tools import Served, member
from tests.acceptance.page.browser_tools import browsing
from tests.conftest import _database

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as running:
        yield running


@pytest.fixture(scope="module")
def database(browser: Browser, server: EmbeddedServer, template: str) -> Iterator[str]:
    """An empty database; none is made where there is no browser."""
    yield from _database(server, template)


@pytest.fixture(scope="module")
def memory(database: str, served: Served) -> Iterator[Memory]:
    with member(database) as client:
        yield client
