"""Whether a view can be read in each window and scheme: axe, contrasts, width and background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

WINDOWS: tuple[dict[str, Any], ...] = (
    {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    {"color_scheme": "dark", "viewport": {"width": 360, "height": 800}},
    {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
    {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
)
BACKGROUNDS = {"light": "rgb(252, 251, 249)", "dark": "rgb(23, 21, 18)"}
SERIOUS = ("serious", "critical")
AXE = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": False}}}
"""Contrasts take axe most of its time, and CONTRASTS looks at every one."""

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


def axe(page: Page) -> list[str]:
    """What axe calls serious on a view, with the elements that it means."""
    axe_core = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is in the extra dev")
    found: dict[str, Any] = axe_core.Axe().run(page, options=AXE).response
    return [
        f"{each['id']}: {node['html'][:120]}"
        for each in found["violations"]
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


def unreadable(page: Page) -> list[str]:
    """What is wrong with a view in each of the windows; it is not loaded again, for that takes longest."""
    found = []
    for window in WINDOWS:
        page.set_viewport_size(window["viewport"])
        page.emulate_media(color_scheme=window["color_scheme"])
        wrong = page.evaluate(CONTRASTS)
        if window in WINDOWS[:2]:  # a wide and a narrow one; colours are not what axe looks at
            wrong += axe(page)
        if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            wrong.append("too wide")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        if background != BACKGROUNDS[window["color_scheme"]]:
            wrong.append(f"its background is {background}")
        found += [f"{window['color_scheme']}, {window['viewport']['width']}: {each}" for each in wrong]
    return found
