"""The first visit in Chromium, without scripts: signing in, and a tenant that holds nothing yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.page.browser_tools import watched_page
from tests.acceptance.page.readability import unreadable

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def keys(database: str) -> dict[str, str]:
    """A key of each tenant that is empty."""
    made = {}
    for tenant in ("empty", "new"):
        with member(database, tenant=tenant) as memory:
            made[tenant] = memory.keys.create("page").secret
    return made


@pytest.fixture(scope="module")
def served(keys: dict[str, str], database: str) -> Iterator[Served]:
    with serving(database) as running:
        yield running


@pytest.fixture
def page(browser: Browser, served: Served, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of somebody who has not signed in; a test may ask for another window."""
    window, refused = getattr(request, "param", {}), ("status of 401", "status of 403")
    with watched_page(browser, served.url, expected=refused, **window) as opened:
        yield opened


def sign_in(page: Page, key: str) -> None:
    page.goto("/")
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="What do you want to recall?").wait_for()


@pytest.mark.parametrize("page", [{"java_script_enabled": False}], indirect=True, ids=["no script"])
def test_from_an_empty_tenant_to_the_first_answer(page: Page, keys: dict[str, str]) -> None:
    sign_in(page, keys["new"])
    begin = page.get_by_role("region", name="No memories yet")
    assert "Write your first memory, or import notes and chats" in begin.inner_text()
    assert page.locator(".counts, .examples").count() == 0
    begin.get_by_role("link", name="Write a memory").click()
    page.get_by_label("Text (Markdown)").fill("The ferry to the island leaves at *seven*.\n\n- from the pier")
    page.get_by_label("Title").fill("The first ferry")
    page.get_by_role("button", name="Remember").click()
    page.locator(".done", has_text="Remembered.").wait_for()
    page.get_by_role("link", name="pgrecall", exact=True).click()
    counts = page.get_by_role("region", name="Counts")
    assert " ".join(counts.locator(".lead").inner_text().split()) == "1 memory: 1 active."
    assert page.get_by_role("region", name="Recent").get_by_role("link", name="The first ferry").count() == 1
    assert page.get_by_text("No memories yet").count() == 0
    page.locator(".examples").get_by_role("link", name="What about the first ferry?").click()
    page.locator(".hit").get_by_role("link", name="The first ferry").click()
    assert page.locator(".text em").inner_text() == "seven"


def test_the_first_views_are_readable(page: Page, keys: dict[str, str]) -> None:
    page.goto("/overview")
    assert unreadable(page) == []
    page.get_by_label("Key").fill("pgr_nobody")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()
    assert unreadable(page) == []
    sign_in(page, keys["empty"])
    for path in ("/", "/memories", "/overview", "/overview?layer=activity", "/plans", "/maintenance"):
        page.goto(path)
        assert unreadable(page) == [], path
