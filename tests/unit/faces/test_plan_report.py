"""The report of a prune plan as a page: well formed, by itself, escaped, counted, legible."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.faces.charts.chart_files import colours
from pgrecall.faces.charts.plan_report import ROWS_MOST, plan_page
from pgrecall.faces.wording import named, percent, shortened
from tests.unit.faces.plans import empty_plan, plan

VOID = {"meta", "br", "link", "img", "input", "hr", "base"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></svg></style><b>bold</b>",
    "it's {{ 7 * 7 }} & {% raw %}",
    "https://example.org/a.css",
    "\u202eturned\u202c \u2067around",
    "ثبت الاجتماع حول الميزانية",
    "a\x00b\x1b[31mc\nd\u2028e",
    "e\u0301" * 500,
    "x" * 1000,
    "校准压力传感器并记录漂移量的会议纪要" * 20,
    "",
)
PLANS = {
    "planned": plan(items=30, neighbours=10, kept=2),
    "applied": plan(items=30, neighbours=10, kept=2, state="applied"),
    "undone": plan(state="undone"),
    "unlinked": plan(neighbours=0, kept=0),
    "one": plan(items=1, neighbours=1, kept=0),
    "empty": empty_plan(),
    "hostile": plan(items=40, neighbours=24, kept=12, titles=HOSTILE),
}


class Page(HTMLParser):
    """Reads a page and refuses what is not balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.parts: dict[str, list[list[str]]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute of <{tag}> is given twice"
        self.tags.append((tag, dict(attrs)))
        self.parts.setdefault(tag, []).append([])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.parts[tag][-1].append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def texts(self, tag: str) -> list[str]:
        return ["".join(parts) for parts in self.parts.get(tag, [])]

    def text(self, tag: str) -> str:
        return " ".join(" ".join(self.texts(tag)).split())


def row_ids(page: Page) -> list[str]:
    found = [attributes.get("id") or "" for attributes in page.all("tr")]
    return [name for name in found if name]


@pytest.fixture(params=PLANS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@cache
def page_of(name: str) -> str:
    """The page of one of the plans, drawn once: that takes longer than all the looks at it."""
    return plan_page(PLANS[name])


def test_the_page_is_balanced_and_its_ids_are_its_own(name: str) -> None:
    page = Page(page_of(name))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = [link["href"] or "" for link in page.all("a")]
    assert wanted
    assert {link.removeprefix("#") for link in wanted} <= set(ids)


def test_the_page_is_one_file(name: str) -> None:
    text = page_of(name)
    page = Page(text)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "use", "image"}
    for _, attributes in page.tags:
        assert not {"src", "srcset", "action", "xlink:href", "data"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    style = page.text("style")
    assert "@import" not in style
    assert all(reference.startswith("#") for reference in re.findall(r"url\((.*?)\)", style))
    assert "default-src 'none'" in text


def test_the_same_plan_gives_the_same_page(name: str) -> None:
    assert plan_page(PLANS[name]) == page_of(name)


def test_every_item_is_one_row(name: str) -> None:
    assert row_ids(Page(page_of(name))) == [f"m{item.id}" for item in PLANS[name].items]


def test_tables_and_charts_are_named_and_headings_step_by_one(name: str) -> None:
    page = Page(page_of(name))
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(head.get("scope") in ("row", "col") for head in page.all("th"))
    assert len(page.all("h1")) == 1
    assert {tag for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)} == {"h1", "h2"}
    assert page.all("html") == [{"lang": "en"}]
    ids = {attributes.get("id") for _, attributes in page.tags}
    for chart in page.all("svg"):
        if chart.get("aria-hidden") != "true":
            assert chart["role"] == "img"
            assert set((chart["aria-labelledby"] or "").split()) <= ids


def test_titles_stay_text() -> None:
    page = Page(page_of("hostile"))
    cells = page.text("th")
    for title in (
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "it's {{ 7 * 7 }} & {% raw %}",
    ):
        assert cells.count(title) >= 4
    assert "turned around" in cells
    assert "a b [31mc d e" in cells
    assert "memory 24" in cells  # neither title nor key
    assert not set(page_of("hostile")) & set("\x00\x1b\u202e\u202c\u2067\u2028")
    assert "x" * 101 not in cells
    assert f"{'x' * 99}…" in cells


def test_the_summary_counts() -> None:
    page = Page(page_of("planned"))
    assert "30 of 200 live memories (15 %) would be archived" in page.text("p")
    assert "2 kept back because they hold others together; 20 links would end." in page.text("p")
    assert "8 live memories would have been cut off" in page.text("p")
    assert "pgrecall plan apply 7" in page.text("pre")
    assert "undo 7" in page.text("pre")


@pytest.mark.parametrize("state", ["applied", "undone"])
def test_outcomes_and_notes_are_shown(state: str) -> None:
    text = plan_page(plan(items=8, state=state))
    page = Page(text)
    assert page.texts("strong") == [state, *["archived", "archived", "archived", "skipped"] * 2]
    assert text.count("It was used after the plan was made.") == 2
    said = page.text("p")
    assert "6 memories were archived, and 2 memories were skipped" in said
    assert ("undoing the plan restored them" in said) is (state == "undone")
    assert "prune apply" not in page.text("pre")
    assert ("plan undo 7" in page.text("pre")) is (state == "applied")


def test_an_empty_plan_says_so() -> None:
    page = Page(plan_page(empty_plan()))
    assert "There are no live memories." in page.text("p")
    assert "There is nothing to apply." in page.text("p")
    assert page.all("table") == []


def test_a_huge_plan_stays_small_and_says_what_it_leaves_out() -> None:
    huge = plan(items=10_000, neighbours=3_000, kept=900, titles=HOSTILE, live=90_000)
    text = plan_page(huge)
    page = Page(text)
    assert len(text.encode()) < 3_000_000
    assert row_ids(page) == [f"m{item.id}" for item in huge.items[:ROWS_MOST]]
    assert "The first 1,000 of 10,000 memories" in page.text("caption")
    assert "the first 200 of 900" in page.text("caption")
    assert "plan show 7 --json" in page.text("caption")


def test_candidates_replaceable_by_others_are_explained() -> None:
    made = plan(items=3, kept=2)
    kept = tuple(replace(one, cut_size=0) for one in made.report.kept_back)
    page = Page(plan_page(replace(made, report=replace(made.report, kept_back=kept, eligible=1500))))
    assert page.text("td").count("only together with others") == 2
    assert "1,497 kept back" in page.text("p")
    assert "the first 2 of 1,497" in page.text("caption")


def test_a_page_of_items_is_marked_as_part() -> None:
    whole = plan(items=30)
    page = Page(plan_page(replace(whole, items=whole.items[:10])))
    assert "lists 10 of the 30 planned memories" in page.text("p")
    assert "30 of 200 live memories" in page.text("p")


def test_text_has_contrast_in_light_and_dark() -> None:
    schemes = [colours(dark=dark) for dark in (False, True)]
    assert schemes[0]["page"] != schemes[1]["page"]
    assert "prefers-color-scheme" in page_of("planned")
    for scheme in schemes:
        assert f"--page: {scheme['page']}" in page_of("planned")
        for name in ("ink", "soft", "planned", "kept", "link", "mark"):
            assert contrast(scheme[name], scheme["page"]) >= 4.5
        for name in ("bar", "wire", "stay"):
            assert contrast(scheme[name], scheme["page"]) >= 3


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@given(st.text(max_size=300), st.integers(2, 80))
def test_short_names_are_one_line_and_keep_their_beginning(text: str, width: int) -> None:
    short = shortened(text, width)
    assert len(short) <= width
    assert short == " ".join(short.split())
    whole = shortened(text, 10_000)
    assert whole.startswith(short.removesuffix("…"))
    assert (short == whole) is (len(whole) <= width)


def test_names_are_not_cut_inside_a_sign() -> None:
    assert shortened("ab e\u0301e\u0301e\u0301", 6) == "ab e\u0301…"
    assert shortened("one two three four", 15) == "one two three…"
    assert named("  ", "a key", 3) == "a key"
    assert named("", None, 3) == "memory 3"


def test_shares_are_never_rounded_to_nothing() -> None:
    assert [percent(0, 0), percent(1, 10_000), percent(35, 1000), percent(1, 3)] == [
        "0 %", "under 0.1 %", "3.5 %", "33 %"
    ]  # fmt: skip
