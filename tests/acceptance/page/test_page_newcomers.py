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
<<<<<<< HEAD
    with member(database) as memory:
        for key in ("wall/a", "wall/b"):
            memory.remember("A wall of stone by the sea, as long as the old quay.", key=key, title="The wall")
        memory.remember("The quay is wet.", key="quay", title="The quay")
        memory.edit("quay", body="The quay is dry.")
        held = Draft("An anchor.", key="anchor", layer="activity", pinned=True, occurred_at=OLD)
        memory.remember_many([held], now=OLD)
        memory.link("quay", "wall/a")
        memory.plans.prune(max_share=1.0, grace_days=0)
        memory.plans.dedupe()
        made["reader"] = memory.keys.create("reader", read_only=True).secret
=======
>>>>>>> w-suite
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


<<<<<<< HEAD
def everything(memory: Memory) -> object:
    """What a tenant holds, to see that nothing was changed."""
    found = [memory.get(one.id) for one in memory.list(include_archived=True, include_superseded=True)]
    held = [(one.id, one.body, one.updated_at, one.archived_at, one.links) for one in found]
    return held, [plan.state for plan in memory.plans.list()]


@EITHER
def test_from_an_empty_tenant_to_the_first_answer(
    page: Page, keys: dict[str, str], request: pytest.FixtureRequest
) -> None:
    sign_in(page, keys["none" if "none" in request.node.name else "script"])
=======
@pytest.mark.parametrize("page", [{"java_script_enabled": False}], indirect=True, ids=["no script"])
def test_from_an_empty_tenant_to_the_first_answer(page: Page, keys: dict[str, str]) -> None:
    sign_in(page, keys["new"])
>>>>>>> w-suite
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


<<<<<<< HEAD
def test_a_key_that_may_only_read_sees_everything_and_changes_nothing(
    page: Page, keys: dict[str, str], memory: Memory
) -> None:
    sign_in(page, keys["reader"])
    assert page.locator(".account", has_text="tenant acme, read-only").count() == 1
    views = page.get_by_role("navigation", name="Views").get_by_role("link").all_inner_texts()
    assert views == ["Search", "Memories", "Overview", "Plans", "Quality", "Maintenance"]
    quay, wall = memory.get("quay").id, memory.get("wall/a").id
    for path, shown in (
        ("/", "4 memories"),
        ("/", "kept at stale"),
        ("/?q=the+quay", "Your key is read-only, so you cannot rate these hits."),
        ("/memories", "The quay"),
        (f"/memories/{quay}", "The quay is dry."),
        (f"/links/{quay}", "The wall"),
        (f"/versions/{quay}", "Version 1"),
        (f"/versions/{quay}/1", "The quay is wet."),
        ("/overview", "Overview"),
        ("/plans", "Prune plan 1"),
        ("/plans/1", "Prune plan 1"),
        ("/plans", "Dedupe plan 2"),
        ("/plans/2", "1 memory would be merged into 1 other that says the same thing."),
        ("/quality", "Quality"),
        ("/maintenance", "Maintenance"),
    ):
        page.goto(path)
        assert shown in page.locator("main").inner_text(), path
        assert set(page.evaluate(POSTS)) <= WRITE_NOTHING, path
    before = everything(memory)
    forms: tuple[tuple[str, dict[str, str]], ...] = (
        ("/add", {"body": "Forged."}),
        (f"/edit/{quay}", {"body": "Forged.", "expected": memory.get(quay).updated_at.isoformat()}),
        (f"/restore/{quay}", {"version": "1", "expected": memory.get(quay).updated_at.isoformat()}),
        (f"/archive/{quay}", {}),
        (f"/unlink/{quay}", {"other": str(wall), "relation": "related"}),
        (f"/forget/{quay}", {"sure": "1"}),
        ("/plans/1/apply", {"sure": "1"}),
    )
    for action, fields in forms:
        page.goto("/memories")
        page.evaluate(FORGE, [action, fields])
        page.get_by_text("Your key is read-only, so nothing was changed.").wait_for()
        assert page.locator("nav[aria-label=Views]").count() == 1, "it is a page from which one can go on"
    assert everything(memory) == before
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in", level=1).wait_for()


=======
>>>>>>> w-suite
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
