"""Views in Chromium by keyboard alone, from a question to its answer and from a file to a memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pgrecall import Memory
from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.page.keyboard import NAME, STOPS, drawn, tab_to, walk_through

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def served(database: str) -> Iterator[Served]:
    with member(database) as memory:
        memory.remember("A wall of stone by the sea.", key="wall", title="The wall")
        memory.settings.set("search.experiment", 1)
        for session in range(3):
            found = memory.search("a wall of stone", session_id=f"s{session}")
            assert found.search_id is not None
            memory.used(found.search_id, "wall")
        memory.search("who owns the lighthouse?", layers=("activity",))
    with serving(database) as running:
        yield running


def presses_to(page: Page, name: str) -> int:
    """How often Tab must be pressed until what has this name has the focus."""
    drawn(page)
    for count in range(1, page.evaluate(STOPS) + 2):
        page.keyboard.press("Tab")
        if page.evaluate(NAME).startswith(name):
            return count
    pytest.fail(f"Tab does not lead to {name}")


def test_every_stop_of_these_views_is_reached_and_shows_the_focus(page: Page) -> None:
    for path in ("/quality?q=stone&memory=wall", "/add"):
        walk_through(page, path)


def test_a_miss_is_explained_and_settings_are_replayed(page: Page) -> None:
    page.goto("/")
    tab_to(page, "Quality")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Quality of searches").wait_for()
    tab_to(page, "Query")
    page.keyboard.type("a wall of stone")
    tab_to(page, "Id or key of the memory")
    page.keyboard.type("wall")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("It is found at rank 1").wait_for()
    assert presses_to(page, "Query") == 1, "one goes on where the answer is"
    tab_to(page, "Weight of vitality")
    page.keyboard.type("5")
    tab_to(page, "Replay")
    page.keyboard.press("Enter")
    page.get_by_role("status").get_by_text("searches repeated: ").wait_for()
    assert presses_to(page, "Weight of vitality") == 1
    tab_to(page, "who owns the lighthouse?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=who+owns+the+lighthouse*")


def test_an_edit_is_saved_read_word_by_word_and_taken_back(page: Page, memory: Memory) -> None:
    number = memory.get("wall").id
    page.goto(f"/memories/{number}")
    tab_to(page, "Edit")
    page.keyboard.press("Enter")
    page.wait_for_url("**/edit/*")
    tab_to(page, "Text (Markdown)")
    page.keyboard.press("Control+a")
    page.keyboard.type("A wall of brick by the sea.")
    tab_to(page, "Save")
    page.keyboard.press("Enter")
    page.locator(".done", has_text="Saved.").wait_for()
    tab_to(page, "See what changed")
    page.keyboard.press("Enter")
    page.locator(".changes ins", has_text="brick").wait_for()
    assert page.locator(".changes del").inner_text().endswith("stone")
    tab_to(page, "Restore this version")
    page.keyboard.press("Enter")
    page.locator(".done", has_text="Earlier version restored.").wait_for()
    assert memory.get("wall").body == "A wall of stone by the sea."


def test_files_are_chosen_imported_and_read(page: Page, tmp_path: Path) -> None:
    note = tmp_path / "jetty.md"
    note.write_text("# The jetty\n\nIt is made of oak.")
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{no JSON}\n")
    page.on("filechooser", lambda chooser: chooser.set_files([note, broken]))
    page.goto("/")
    tab_to(page, "Add")
    page.keyboard.press("Enter")
    page.wait_for_url("**/add")
    tab_to(page, "Notes (.md)")
    page.keyboard.press("Enter")
    page.locator("#files:valid").wait_for()  # it is required, and so valid once it has files
    tab_to(page, "Import")
    page.keyboard.press("Enter")
    page.wait_for_url("**/import/*")
    page.get_by_text("Done.").wait_for()
    assert "broken.jsonl: line 1: not JSON" in page.get_by_role("region", name="Problems").inner_text()
    tab_to(page, "See the memories")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memories")
    tab_to(page, "The jetty")
    page.keyboard.press("Enter")
    page.get_by_role("group", name="Text").get_by_text("It is made of oak.").wait_for()
