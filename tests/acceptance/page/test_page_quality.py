"""Quality and dedupe in Chromium: every action with its undo, who may, and what axe finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pgrecall import Memory
from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.page.browser_tools import Watched
from tests.acceptance.page.readability import unreadable
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

VIEWS = ("/quality", "/quality?q=stone&memory=wall", "/plans", "/plans/1", "/plans/2")
SAME = "The ferry to the island leaves at the old pier every morning."


@pytest.fixture(scope="module")
def served(database: str) -> Iterator[Served]:
    with member(database) as memory:
        for key in ("gull/a", "gull/b"):
            memory.remember("Three grey gulls sit on the roof of the harbour office.", key=key)
        memory.plans.apply(memory.plans.dedupe().id)
        memory.remember("A wall of stone by the sea.", key="wall")
        for key in ("ferry/a", "ferry/b"):
            memory.remember(SAME, key=key)
        memory.settings.set("search.experiment", 1)
        for session in range(6):
            found = memory.search("a wall of stone", session_id=f"s{session}")
            assert found.search_id is not None
            if session % 2:
                memory.used(found.search_id, "wall")
        empty = memory.search("who owns the lighthouse?", layers=("activity",))
        assert empty.hits == ()
        memory.plans.dedupe()
    with serving(database) as running:
        yield running


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    context = browser.new_context(base_url=served.url)
    context.set_default_timeout(PATIENCE * 1000)
    try:
        yield context.new_page()
    finally:
        context.close()


def test_quality_says_what_the_log_says(page: Page, served: Served) -> None:
    watched = Watched(page, served.url)
    page.goto("/quality")
    said = page.inner_text("main")
    assert "Too little to conclude from" in said
    assert "who owns the lighthouse?" in said
    assert "Experiment 1" in said
    assert "each arm needs 476 sessions" in said
    page.locator("#q").fill("a wall of stone")
    page.locator("#memory").fill("wall")
    page.get_by_role("button", name="Explain").click()
    assert "It is found at rank 1" in page.inner_text("section[aria-labelledby=miss]")
    page.get_by_label("Weight of vitality").fill("5")
    page.get_by_role("button", name="Replay").click()
    assert "7 searches repeated" in page.inner_text("section[aria-labelledby=replay]")
    assert watched.wrong == []


def test_a_replay_without_a_change_says_so(page: Page) -> None:
    page.goto("/quality")
    page.get_by_role("button", name="Replay").click()
    assert "No setting is changed, so no result would change." in page.inner_text("[role=alert]")


def test_a_plan_is_made_applied_and_undone(page: Page, memory: Memory) -> None:
    page.goto("/plans")
    page.get_by_role("button", name="Create dedupe plan").click()
    assert "Word for word the same" in page.inner_text("main")
    number = int(page.url.rpartition("/")[2])
    page.get_by_label("Cluster 1").uncheck()
    page.get_by_label("Merge this cluster").check()
    page.get_by_role("button", name="Apply plan").click()
    assert "Nothing is ticked, so nothing was archived." in page.inner_text("main")
    assert memory.plans.get(number).state == "planned"
    page.goto(f"/plans/{number}")
    page.get_by_label("Merge this cluster").check()
    page.get_by_role("button", name="Apply plan").click()
    assert "1 memory was merged, 0 skipped." in page.inner_text("main")
    assert re.search(r"memory was to be merged|memories were to be merged", page.inner_text("main"))
    assert "Struck out: words that only an archived memory has." in page.inner_text("main")
    assert [memory.get(key).archived_at is None for key in ("ferry/a", "ferry/b")].count(True) == 1
    page.get_by_label("Restore the memories").check()
    page.get_by_role("button", name="Undo plan").click()
    assert "The merges were undone." in page.inner_text("main")
    assert [memory.get(key).archived_at for key in ("ferry/a", "ferry/b")] == [None, None]


def test_every_view_is_readable(page: Page) -> None:
    for view in VIEWS:
        page.goto(view)
        assert unreadable(page) == [], view
