"""Chromium, as the tests of the page drive it: the system's own, and nothing leaves this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

EITHER = pytest.mark.parametrize(
    "page", [{}, {"java_script_enabled": False}], indirect=True, ids=["script", "none"]
)
"""For a test that holds with the page's script and without."""


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser with a profile of its own; where there is none the tests are skipped, loudly."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        said = "THE PAGE IS NOT TESTED IN A BROWSER: install Chromium, and the extra dev for Playwright."
        pytest.skip(said)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS, timeout=PATIENCE * 1000)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """What a view did that it should not have done: errors, and requests to other places."""

    def __init__(self, page: Page, url: str) -> None:
        self.wrong: list[str] = []
        here = urlsplit(url).netloc
        page.on(
            "console",
            lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on(
            "request",
            lambda asked: None if urlsplit(asked.url).netloc == here else self.wrong.append(asked.url),
        )


@contextmanager
def watched_page(
    browser: Browser, url: str, *, expected: tuple[str, ...] = (), **options: Any
) -> Iterator[Page]:
    """A page in which nothing may go wrong, but for messages with one of the ``expected`` parts.

    Args:
        options: of Playwright's context: the window, or that scripts are off.
    """
    with browser.new_context(base_url=url, **options) as context:
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        watched = Watched(page, url)
        yield page
        assert [wrong for wrong in watched.wrong if not any(part in wrong for part in expected)] == []
