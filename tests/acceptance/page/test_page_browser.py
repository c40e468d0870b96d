"""The page in Chromium: by keyboard, by pointer, with its script and without."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import httpx
import pytest

from pgrecall import Draft, Memory
from tests.acceptance.http.http_tools import PLAIN, Served, member, serving
from tests.acceptance.page.browser_tools import watched_page
from tests.acceptance.page.keyboard import tab_to, walk_through
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OLD = datetime.now(UTC) - timedelta(days=900)


def fill(memory: Memory) -> str:
    """Memories that are linked, used and old, a plan, and the key that opens them."""
    texts = {
        "ferry": "The ferry leaves at seven.",
        "pier": "The pier is wet.",
        "harbour": "The harbour is closed.",
    }
    memory.remember_many([Draft(text, title=f"The {key}", key=key) for key, text in texts.items()])
    memory.remember_many([Draft("w" * 4000, title="unbroken" * 30, key="long")])
    buoys = [
        Draft(f"An old buoy number {n}.", layer="activity", key=f"buoy/{n}", occurred_at=OLD)
        for n in range(3)
    ]
    memory.remember_many(buoys, now=OLD)
    memory.link("ferry", "pier")
    memory.link("pier", "harbour")
    memory.maintenance.refresh_graph()
    memory.record_access("ferry", "used")
    memory.plans.prune(max_share=1.0, grace_days=0)
    memory.edit("pier", body="The pier is dry.")
    for key in ("gull/a", "gull/b"):
        memory.remember("Three grey gulls sit on the roof of the harbour office.", key=key)
    memory.plans.dedupe()
    return memory.keys.create("browser").secret


@pytest.fixture(scope="module")
def served(database: str) -> Iterator[tuple[Served, str]]:
    """A service that needs a key, and its key."""
    with member(database) as memory:
        key = fill(memory)
    with serving(database) as running:
        yield running, key


@pytest.fixture(scope="module")
def signed(browser: Browser, served: tuple[Served, str]) -> dict[str, object]:
    """The cookies of somebody who has signed in through the form, with the keyboard alone."""
    running, key = served
    with browser.new_context(base_url=running.url) as context:
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        page.goto("/overview")
        page.wait_for_function("document.activeElement.name === 'key'")
        page.keyboard.type(key)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        assert page.evaluate("document.cookie") == "", "scripts cannot read it"
        state: dict[str, object] = dict(context.storage_state())
    return state


@pytest.fixture
def page(
    browser: Browser, served: tuple[Served, str], signed: dict[str, object], request: pytest.FixtureRequest
) -> Iterator[Page]:
    """A page of somebody signed in; a test may ask for another window. Nothing may go wrong in it."""
    window = {"viewport": {"width": 1280, "height": 900}, **getattr(request, "param", {})}
    with watched_page(browser, served[0].url, storage_state=signed, **window) as opened:
        yield opened


def test_a_question_is_asked_and_its_answers_are_judged_by_keyboard_alone(page: Page) -> None:
    page.goto("/overview")
    page.keyboard.press("/")
    page.wait_for_url(lambda url: url.endswith("/"))
    page.wait_for_function("document.activeElement.id === 'q'")
    page.keyboard.type("when does the ferry leave")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    page.wait_for_load_state()  # and its script with it
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent.trim()") == "The ferry"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "zone"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.value") == "used"
    page.keyboard.press("Enter")
    page.locator(".hit").first.get_by_text("Recorded: used.").wait_for()
    assert page.locator(".hit").first.locator("button[value=used]").get_attribute("aria-pressed") == "true"
    assert "search=" not in page.url, "a verdict does not reload the page"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"


def test_the_reasons_are_drawn_to_one_scale(page: Page) -> None:
    page.goto("/?q=the+ferry+and+the+wet+pier")
    page.evaluate("for (const each of document.querySelectorAll('details.steps')) each.open = true")
    steps = page.eval_on_selector_all(
        ".hit tbody tr",
        "rows => rows.filter(row => !row.matches('.sum, .none')).map(row => ["
        "Math.abs(parseFloat(row.querySelector('.number').textContent.replace(/[−+<]/, ''))),"
        "row.querySelector('rect').getBoundingClientRect().width])",
    )
    assert len(steps) >= 6
    large = [(value, width) for value, width in steps if value > 5]
    assert all(width > 0 for _, width in steps)
    scales = [width / value for value, width in large]
    assert max(scales) < 1.1 * min(scales)


def test_every_view_can_be_walked_through_with_the_tabulator(page: Page) -> None:
    page.goto("/links/pier")
    number = page.get_by_role("link", name="Back to the memory").get_attribute("href").rpartition("/")[2]
    for path in (
        "/?q=ferry",
        "/links/pier",
        "/plans",
        "/plans/2",
        f"/versions/{number}",
        f"/versions/{number}/1",
    ):
        walk_through(page, path)


def test_a_dedupe_plan_is_applied_and_undone_by_keyboard_alone(page: Page) -> None:
    page.goto("/plans")
    tab_to(page, "Create dedupe plan")
    page.keyboard.press("Enter")
    page.get_by_text("1 memory would be merged into 1 other").wait_for()
    tab_to(page, "Tick none")
    page.keyboard.press("Enter")
    assert page.locator(".ticked").inner_text() == "0"
    tab_to(page, "Cluster 1")
    page.keyboard.press("Space")
    assert page.locator(".ticked").inner_text() == "1"
    tab_to(page, "Merge this cluster")
    page.keyboard.press("Space")
    tab_to(page, "Apply plan")
    page.keyboard.press("Enter")
    page.get_by_text("1 memory was merged, 0 skipped.").wait_for()
    tab_to(page, "Restore the memories")
    page.keyboard.press("Space")
    tab_to(page, "Undo plan")
    page.keyboard.press("Enter")
    page.get_by_text("The merges were undone.").wait_for()


@pytest.mark.parametrize(
    "page",
    [{}, {"viewport": {"width": 390, "height": 844}}, {"java_script_enabled": False}],
    indirect=True,
    ids=["wide", "telephone", "without a script"],
)
def test_an_import_is_undone_by_keyboard_alone(page: Page, served: tuple[Served, str]) -> None:
    url = served[0].url
    key = {"Authorization": f"Bearer {served[1]}"}
    log = b"# Log\n\nThe beacon blinks twice."
    sent = httpx.post(f"{url}/v1/imports?name=log.md", content=log, headers=key, **PLAIN)
    assert sent.json()["report"]["created"] == 1
    page.goto("/add")
    tab_to(page, "Earlier imports")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Imports", level=1).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab_to(page, "Undo …")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Undo import").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab_to(page, "Undo this import")
    page.keyboard.press("Space")
    tab_to(page, "Undo import")
    page.keyboard.press("Enter")
    page.get_by_text("1 memory deleted").wait_for()
    found = httpx.get(f"{url}/v1/memories?limit=100", headers=key, **PLAIN).text
    assert "The beacon" not in found


def test_a_version_is_read_compared_and_restored_by_keyboard_alone(page: Page) -> None:
    page.goto("/links/pier")
    tab_to(page, "Back to the memory")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="The pier", level=1).wait_for()
    page.goto(page.url.replace("/memories/", "/versions/"))
    tab_to(page, "Version 1")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Differences from").wait_for()
    tab_to(page, "version 2")
    page.keyboard.press("Enter")
    page.wait_for_url("**with=2*")
    page.locator(".changes del", has_text="wet").wait_for()
    tab_to(page, "Restore this version")
    page.keyboard.press("Enter")
    page.locator(".done", has_text="Earlier version restored.").wait_for()
    assert page.locator(".text").first.inner_text() == "The pier is wet."
    tab_to(page, "Undo")
    page.keyboard.press("Enter")
    page.locator(".text", has_text="The pier is dry.").first.wait_for()


def test_the_curve_of_a_memory_is_read_off(page: Page) -> None:
    page.goto("/memories/ferry")
    curve = page.locator(".on-desk svg.life")
    box = curve.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2)
    assert "vitality will be" in page.locator(".reading").inner_text()
    lengths = page.eval_on_selector_all(
        ".on-desk path.curve", "paths => paths.map(path => path.getTotalLength())"
    )
    assert len(lengths) == 2
    assert min(lengths) > 50
    page.mouse.move(0, 0)
    assert page.locator(".reading").inner_text() == ""


def test_from_node_to_node(page: Page) -> None:
    page.goto("/links/ferry")
    page.locator(".on-desk a.dot", has=page.locator("path.point.square")).focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Links of The pier").wait_for()
