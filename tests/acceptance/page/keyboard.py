"""The page by keyboard: Tab leads to everything, and what has the focus shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

STOPS = """() => [
  ...document.querySelectorAll("a[href], button, summary, select, textarea, .scroll, input"),
].filter((stop) => stop.type !== "hidden" && stop.checkVisibility()).length"""
FOCUSED = """() => {
  const at = document.activeElement, style = (element) => getComputedStyle(element);
  const ringed = at.matches(".dot")
    ? style(at.querySelector(".point")).strokeWidth === "2.5px"
    : style(at).outlineStyle !== "none" || at === document.body;
  return [`${at.tagName} ${[...document.querySelectorAll("*")].indexOf(at)}`, ringed];
}"""
"""Which element has the focus, and whether it shows that it has."""

NAME = """() => {
  const at = document.activeElement;
  return (at.labels?.[0] ?? at).textContent.trim();
}"""
"""What the element that has the focus is called."""


def drawn(page: Page) -> None:
    """Waits until this view is drawn, as somebody does who reads it before pressing a key.

    Its texts are there before that. Tab then leads to its first link, and once it is drawn, the browser takes
    the focus away again, to go on from where the address leads to.
    """
    page.wait_for_load_state()
    page.screenshot()  # draws it, without its script too


def tab_to(page: Page, name: str) -> None:
    """Presses Tab, at the end from the beginning on, until what has this name has the focus and shows it."""
    drawn(page)
    for _ in range(page.evaluate(STOPS) + 2):
        page.keyboard.press("Tab")
        place, ringed = page.evaluate(FOCUSED)
        assert ringed, f"nothing shows that {place} has the focus"
        if page.evaluate(NAME).startswith(name):
            return
    pytest.fail(f"Tab does not lead to {name}")


def walk_through(page: Page, path: str) -> None:
    """Presses Tab through a view: every stop is reached, and each shows that it has the focus."""
    page.goto(path)
    drawn(page)
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(page.evaluate(STOPS) + 2):
        page.keyboard.press("Tab")
        place, ringed = page.evaluate(FOCUSED)
        assert ringed, f"{path}: nothing shows that {place} has the focus"
        reached.add(place)
    assert len(reached) >= page.evaluate(STOPS), path
