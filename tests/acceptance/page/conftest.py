"""What the files that drive Chromium share: a browser, a database, and a client beside the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pgrecall import Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from tests.acceptance.http.http_tools import Served, member
from tests.acceptance.page.browser_tools import browsing, watched_page
from tests.databases import new_database

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as running:
        yield running


@pytest.fixture(scope="module")
def database(browser: Browser, server: EmbeddedServer, template: str) -> Iterator[str]:
    """An empty database; none is made where there is no browser."""
    yield from new_database(server, template)


@pytest.fixture(scope="module")
def memory(database: str, served: Served) -> Iterator[Memory]:
    with member(database) as client:
        yield client


@pytest.fixture
def page(browser: Browser, served: Served, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page in which nothing may go wrong; a test may ask for one without scripts."""
    with watched_page(browser, served.url, **getattr(request, "param", {})) as opened:
        yield opened
