"""Choices of a person in Chromium: merges by hand, contradictions and filters, with and without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from pgrecall import Draft, Memory
from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.page.browser_tools import EITHER

if TYPE_CHECKING:
    from playwright.sync_api import Page

OLD = datetime.now(UTC) - timedelta(days=2000)
CODE = "The door code of the old boathouse near the market in Alden is {}"


@pytest.fixture(scope="module")
def served(database: str) -> Iterator[Served]:
    with member(database) as memory:
        memory.remember_many(
            [
                Draft("The mole is 40 metres long.", title="The mole", key="mole", tags=("stone",)),
                Draft("The jetty has 40 metres.", title="The jetty", key="jetty", author="Mira"),
                Draft(
                    "The slip is steep.",
                    title="The slip",
                    key="slip",
                    metadata={"project": "atlas"},
                    source="harbour log",
                ),
                Draft(CODE.format(4711), title="Door", key="door/old"),
                Draft(CODE.format(8812), title="Door", key="door/new"),
            ]
        )
        held = Draft("An anchor of iron.", title="The anchor", layer="activity", pinned=True, occurred_at=OLD)
        memory.remember_many([held], now=OLD)
        memory.link("slip", "mole")
    with serving(database) as running:
        yield running


@EITHER
def test_two_memories_are_merged_by_hand_and_come_apart_again(page: Page, memory: Memory) -> None:
    mole, jetty = memory.get("mole").id, memory.get("jetty").id
    page.goto(f"/memories/{mole}")
    page.get_by_role("link", name="Merge …").click()
    page.get_by_label("Find the other memory").fill("the jetty")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("radio", name="The jetty").check()
    page.get_by_label("the other one").check()
    page.get_by_role("button", name="Review the merge").click()
    page.get_by_text("1 memory would be merged into 1 other, as you chose.").wait_for()
    assert "mole" in page.locator(".cluster del").all_inner_texts()[0]
    assert memory.get(mole).archived_at is None, "a plan merges nothing"
    page.get_by_label("Merge this cluster").check()
    page.get_by_role("button", name="Apply plan").click()
    page.get_by_text("1 memory was merged, 0 skipped.").wait_for()
    assert memory.get(mole).superseded_by == jetty
    page.get_by_role("link", name="The jetty").first.click()
    page.locator(".linked", has_text="The slip").wait_for()
    assert memory.get(jetty).tags == ("stone",)
    page.go_back()
    page.get_by_label("Restore the memories").check()
    page.get_by_role("button", name="Undo plan").click()
    page.get_by_text("The merges were undone.").wait_for()
    apart = memory.get(mole), memory.get(jetty)
    assert [(one.archived_at, one.superseded_by) for one in apart] == [(None, None)] * 2
    assert [one.tags for one in apart] == [("stone",), ()]
    page.goto(f"/memories/{jetty}")
    page.get_by_text("No links.").wait_for()


@EITHER
def test_a_contradiction_is_linked_from_its_plan_and_unlinked_again(page: Page, memory: Memory) -> None:
    page.goto("/plans")
    page.get_by_role("button", name="Create dedupe plan").click()
    row = page.get_by_role("row", name="different numbers (4711; 8812)")
    row.get_by_role("button", name="Link as a contradiction").click()
    page.locator(".done", has_text="Linked").wait_for()
    assert [link.relation for link in memory.get("door/old").links] == ["contradicts"]
    page.locator(".done").get_by_role("button", name="Undo").click()
    page.locator(".done", has_text="Link removed").wait_for()
    assert memory.get("door/old").links == ()
