"""Working on the page in Chromium: every action with its undo, by keyboard, on a telephone; and axe."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgrecall import Draft, Memory
from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.page.browser_tools import EITHER, watched_page
from tests.acceptance.page.readability import WINDOWS, unreadable

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OLD = datetime.now(UTC) - timedelta(days=900)
VIEWS = (
    "/", "/?q=stone", "/memories", "/add", "/edit/{0}", "/link/{0}", "/supersede/{0}",
    "/forget/{0}", "/memories/{0}", "/links/{0}", "/versions/{0}", "/versions/{0}/1", "/merge/{0}", "/zones",
    "/overview", "/overview/alive",
    "/plans", "/plans/1", "/maintenance", "/nowhere",
)  # fmt: skip


@pytest.fixture(scope="module")
def served(database: str) -> Iterator[Served]:
    with member(database) as memory:
        memory.remember_many(
            [
                Draft("The quay is built of **stone**.\n\n- north\n- south", title="The quay", key="quay"),
                Draft(
                    "A wall of stone | by the sea.",
                    title="The wall",
                    key="wall",
                    tags=("sea",),
                    author="Mira",
                ),
                Draft("w" * 4000, title="unbroken" * 30, key="long"),
            ]
        )
        memory.remember_many(
            [Draft(f"An old log {n}.", key=f"log/{n}", layer="activity", occurred_at=OLD) for n in range(3)],
            now=OLD,
        )
        memory.link("wall", "quay")
        memory.pin("wall")
        memory.record_access("quay", "used")
        memory.plans.prune(max_share=1.0, grace_days=0)
    with serving(database) as running:
        yield running


@pytest.fixture
def page(browser: Browser, served: Served, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page in which nothing may go wrong; a test may ask for another window."""
    window = {"viewport": {"width": 1280, "height": 900}, **getattr(request, "param", {})}
    with watched_page(browser, served.url, expected=("404",), **window) as opened:
        yield opened


def new(memory: Memory, name: str) -> int:
    return memory.remember(f"About {name}.", key=name, title=f"The {name}").id


def test_axe_finds_nothing_serious_and_every_view_fits(page: Page, memory: Memory) -> None:
    number, wrong = memory.get("quay").id, {}
    for path in VIEWS:
        page.goto(path.format(number))
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        if found := unreadable(page):
            wrong[path] = found
    assert wrong == {}


def test_every_action_and_its_undo(page: Page, memory: Memory) -> None:
    number = new(memory, "crane")
    page.goto(f"/memories/{number}")

    def assert_shown(words: str) -> None:
        page.locator(".done", has_text=words).wait_for()

    def undo(words: str) -> None:
        page.locator(".done").get_by_role("button", name="Undo").click()
        assert_shown(words)

    page.locator(".actions").get_by_role("button", name="Pin").click()
    assert_shown("Pinned")
    assert memory.get(number).pinned
    undo("Unpinned")
    page.locator(".actions").get_by_role("button", name="Archive").click()
    assert_shown("Archived")
    assert memory.get(number).archived_at
    undo("Restored")
    page.get_by_role("link", name="Link …").click()
    page.get_by_label("Find the other memory").fill("a wall of stone")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("radio", name="The wall").check()
    page.get_by_label("Relation").select_option("supports")
    page.get_by_role("button", name="Link", exact=True).click()
    assert_shown("Linked")
    assert [link.relation for link in memory.get(number).links] == ["supports"]
    undo("Link removed")
    undo("Linked")
    page.get_by_role("button", name="Unlink").click()
    assert_shown("Link removed")
    page.get_by_role("link", name="Supersede …").click()
    page.get_by_label("Or enter its id or key").fill("wall")
    page.get_by_role("button", name="Supersede").click()
    assert_shown("Superseded")
    assert memory.get(number).superseded_by == memory.get("wall").id
    undo("Link removed")
    assert memory.get(number).superseded_by is None
    page.goto(f"/memories/{number}")
    page.get_by_role("link", name="Forget …").click()
    page.get_by_label("Delete this memory and everything about it").check()
    page.get_by_role("button", name="Delete for good").click()
    page.get_by_text("Deleted for good.").wait_for()
    assert not [one for one in memory.list(limit=100) if one.id == number]


def test_something_is_added_by_keyboard_alone(page: Page, memory: Memory) -> None:
    page.goto("/")
    page.get_by_role("link", name="Add something").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Text (Markdown)").focus()
    page.keyboard.type("The tide turns at noon.")
    page.keyboard.press("Tab")
    page.keyboard.type("Tides")
    page.get_by_role("button", name="Remember").focus()
    page.keyboard.press("Enter")
    page.locator(".done", has_text="Remembered").wait_for()
    assert page.get_by_role("heading", level=1).inner_text() == "Tides"
    page.locator(".done").get_by_role("button", name="Undo").press("Enter")
    page.locator(".done", has_text="Archived").wait_for()
    assert memory.list(limit=1, include_archived=True)[0].archived_at


@EITHER
def test_a_running_import_says_of_each_file_how_far_it_is(
    page: Page, memory: Memory, database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = "held" if "script" in request.node.name else "kept"
    memory.remember("Before.", key=name, source="page:1.jsonl")
    files = []
    for place, key in enumerate((f"before {name}", name, f"after {name}")):
        files.append(tmp_path / f"{place}.jsonl")
        files[-1].write_text(f'{{"body": "Of the {key} file.", "key": "{key}"}}\n')
    with psycopg.connect(database) as holder:
        holder.execute("SELECT set_config('recall.tenant', 'acme', false)")
        held = holder.execute(
            "SELECT id FROM recall.memory WHERE tenant = 'acme' AND key = %s FOR UPDATE", (name,)
        )
        assert held.fetchone(), "the second file waits for this row"
        page.goto("/add")
        page.get_by_label("Notes (.md)").set_input_files(files)
        page.get_by_role("button", name="Import").click()
        page.get_by_text("1 of 3 files done, ").wait_for()
        lines = page.get_by_role("region", name="Files").get_by_role("listitem")
        lines.nth(0).get_by_text("unchanged").wait_for()
        assert [line.rpartition(".jsonl ")[2] for line in lines.all_inner_texts()[1:]] == [
            "is being read", "waits",
        ]  # fmt: skip
        assert page.get_by_role("status").inner_text() == "Importing … 1 new, 0 updated, 0 unchanged."
    page.get_by_text("Done. ").wait_for()
    assert memory.get(name).body == f"Of the {name} file."


def drag(page: Page, *paths: Path) -> None:
    """Drags files from the desktop over the page and lets them go there."""
    devices = page.context.new_cdp_session(page)
    held = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for step in ("dragEnter", "dragOver", "drop"):
        devices.send("Input.dispatchDragEvent", {"type": step, "x": 200, "y": 60, "data": held})


def test_files_dropped_anywhere_on_the_page_are_sent_at_once(page: Page, tmp_path: Path) -> None:
    paths = [tmp_path / "carried.md", tmp_path / "too.md"]
    for path in paths:
        path.write_text(f"The {path.stem} file came by the pointer.")
    page.goto("/add")
    page.get_by_text("Or drop them anywhere on this page.").wait_for()
    drag(page, *paths)
    page.wait_for_url("**/import/*")
    page.get_by_text("2 new").first.wait_for()


def test_a_dropped_folder_is_refused_in_a_sentence(page: Page, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("A note in a folder.")
    page.goto("/add")
    page.get_by_text("Or drop them anywhere on this page.").wait_for()
    drag(page, tmp_path / "vault")
    page.get_by_text("A folder cannot be dropped here").wait_for()
    assert page.url.endswith("/add")


def test_the_reasons_are_behind_one_click_in_per_cent(page: Page) -> None:
    page.goto("/?q=a+wall+of+stone")
    first = page.locator(".hit").first
    assert "Found by" in first.locator(".reason").inner_text()
    assert not first.locator(".steps table").is_visible()
    first.get_by_text("Why?").press("Enter")
    assert first.locator("tr.sum .number").inner_text().endswith("%")
    first.locator("a.zone").click()
    page.get_by_role("heading", name="Zones", level=1).wait_for()
    page.wait_for_function("document.querySelector(':target') !== null")  # once all of the page has come


def test_candidates_are_ticked_one_by_one(page: Page, memory: Memory) -> None:
    plan = memory.plans.prune(max_share=1.0, grace_days=0, layers=("activity",))
    page.goto(f"/plans/{plan.id}")
    group = page.locator(".group", has_text="An old log 1.")
    group.get_by_role("button", name="Tick none").click()
    assert group.locator(".ticked").inner_text() == "0"
    group.get_by_label("An old log 1.").check()
    assert group.locator(".ticked").inner_text() == "1"
    page.get_by_label("Archive the ticked").check()
    page.get_by_role("button", name="Apply plan").click()
    page.locator(".decide", has_text="1 memory was archived").wait_for()
    assert memory.get("log/1").archived_at
    assert not memory.get("log/0").archived_at
    page.get_by_label("Restore the memories that this plan archived").check()
    page.get_by_role("button", name="Undo plan").click()
    page.locator(".status strong", has_text="undone").wait_for()
    assert not memory.get("log/1").archived_at


@pytest.mark.parametrize("page", [WINDOWS[1]], indirect=True, ids=["narrow"])
def test_a_telephone_gets_its_own_charts_and_tables_that_stack(page: Page, memory: Memory) -> None:
    page.goto("/overview")
    assert page.locator(".on-desk:visible").count() == 0
    assert page.locator(".on-telephone:visible svg").count() >= 1
    sizes = page.eval_on_selector_all(
        ".on-telephone svg",
        "charts => charts.map((c) => 12 * c.getBoundingClientRect().width / c.viewBox.baseVal.width)",
    )
    assert min(sizes) > 10, "letters are as large as they are meant to be"
    page.goto("/memories")
    cell = page.locator("td[data-label='Layer']").first
    assert cell.evaluate("cell => getComputedStyle(cell, '::before').content") == '"Layer"'
    above = page.locator("tbody th").first.bounding_box()
    below = cell.bounding_box()
    assert above
    assert below
    assert above["y"] + above["height"] <= below["y"] + 1
    rows = page.eval_on_selector_all("tbody tr", "rows => rows.map((row) => row.clientHeight)")
    assert min(rows) < 110, "what fits stands in one line, and what is not there takes none"
    assert page.locator("tbody td:visible", has_text="none").count() == 0


def test_labels_of_links_are_whole_on_focus(page: Page, memory: Memory) -> None:
    page.goto(f"/links/{memory.get('long').id}")
    node = page.locator(".on-desk a.dot").first
    whole = node.locator(".whole-name")
    assert not whole.is_visible()
    node.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert whole.is_visible()
