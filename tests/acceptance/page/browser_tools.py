"""Chromium, as the tests of the page drive it: the system's own, and nothing leaves this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
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


CONTRASTS = """
() => {
  const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const solid = (colour) => numbers(colour).length < 4 || numbers(colour)[3] > 0;
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (solid(colour)) return numbers(colour);
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || element.closest(".unseen, .skip") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    if (!solid(ink)) continue;
    const levels = [light(numbers(ink)), light(behind(element))].sort((a, b) => b - a);
    const contrast = (levels[0] + 0.05) / (levels[1] + 0.05);
    const said = `${element.tagName} ${element.textContent.trim().slice(0, 40)}`;
    if (contrast < 4.5) found.push(`${said}: ${contrast.toFixed(2)}`);
  }
  return found;
}
"""
"""Texts whose contrast with what is behind them is less than 4.5."""
