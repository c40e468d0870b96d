"""Scripts in everything that is stored or asked, in a real browser: none runs, none is even refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest

from pgrecall import Draft, Memory
from tests.acceptance.http.http_tools import Served, member
from tests.acceptance.mcp.oauth_tools import Person, authorization, registered, serving_oauth
from tests.acceptance.page.browser_tools import watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OLD = datetime.now(UTC) - timedelta(days=900)
QUESTIONS = (
    "q", "turns", "tags", "author", "source", "order", "session", "done", "other", "relation", "now", "layer",
    "k", "as_of", "after", "before", "metadata", "role", "limit", "offset", "kind", "listed",
)  # fmt: skip

EXPECTED = ("a status of 4", "does not conform to the required format")
"""What the browser may report: a question that is refused, and a date that is none."""

TEXTS = "\n\n".join(
    f"[x]({scheme}:ran('body'))"
    for scheme in (
        "javascript",
        "JaVaScRiPt",
        "java\tscript",
        "&#106;avascript",
        "vbscript",
        "data:text/html,",
    )
)


def script(field: str) -> str:
    """A text that runs a script wherever it is taken for anything but text."""
    return (
        f"'\"--></title></textarea></style></script><img src=/x onerror=ran('{field}')>"
        f"<svg/onload=ran('{field}')><script>ran('{field}')</script>{{{{7*7}}}}"
    )


def fill(memory: Memory) -> None:
    """A script in every field, and what the page shows besides memories."""
    layer = memory.layers.list()[0].name
    drafts = [
        Draft(
            f"{script('body')}\n\n{TEXTS} {number}", key=script(f"key{number}"), title=script("title"),
            author=script("author"), tags=(script("tag"), script("other")), aliases=(script("alias"),),
            context=script("context"), metadata={script("name"): {script("inner"): [script("value")]}},
            session_id=script("session"), source=script("source"), layer=layer,
        )
        for number in range(3)
    ]  # fmt: skip
    memory.remember_many(drafts)
    keys = [str(draft.key) for draft in drafts]
    ids = [memory.get(key).id for key in keys]
    memory.link(keys[0], keys[1])
    memory.edit(keys[0], body=f"{script('edited')} and more", title=script("new"), tags=(script("third"),))
    memory.supersede(keys[2], keys[1])
    old = [Draft(f"{script('old')} {n}", key=script(f"old{n}"), layer="activity") for n in range(3)]
    memory.remember_many(old, now=OLD)
    for key in ("twin/a", "twin/b"):
        memory.remember(f"Three grey gulls. {script('twin')}", key=key, title=script("twin"), compare=False)
    memory.remember(f"The token ghp_{'a1B2c3' * 6} {script('secret')}", title=script("secret"))
    memory.maintenance.refresh_graph()
    memory.maintenance.refresh_statistics()
    memory.record_access(ids[0], "used", session_id=script("session"))
    memory.search(f"gulls {script('query')}", session_id=script("session"))
    memory.plans.prune(max_share=1.0, grace_days=0)
    memory.plans.find_duplicates()
    memory.plans.dedupe()
    memory.plans.redact()
    memory.keys.create(script("label"))
    memory.forget(keys[1])


@pytest.fixture(scope="module")
def served(browser: Browser, database: str) -> Iterator[tuple[Served, str]]:
    """A service with OAuth, and the key of its only tenant."""
    with member(database) as memory:
        fill(memory)
        key = memory.keys.create("browser").secret
    with serving_oauth(database) as running:
        yield running, key


@pytest.fixture
def page(browser: Browser, served: tuple[Served, str]) -> Iterator[Page]:
    """A page of somebody signed in."""
    running, key = served
    with watched_page(browser, running.url, expected=EXPECTED) as opened:
        opened.goto("/plans")
        opened.locator("[name=key]").fill(key)
        opened.keyboard.press("Enter")
        opened.get_by_role("heading", name="Plans", level=1).wait_for()
        ran: list[str] = []
        opened.expose_function("ran", lambda field: ran.append(field))  # Playwright marks it
        yield opened
        assert ran == []


def view(page: Page, address: str) -> list[str]:
    """Opens a view, and returns where its links lead on this site."""
    answer = page.goto(address)
    assert answer is not None
    assert answer.status < 500, address
    found = page.evaluate(
        """() => ({
          scripts: [...document.scripts].map(one => one.getAttribute("src")),
          handlers: [...document.querySelectorAll("*")]
            .flatMap(one => [...one.attributes].filter(each => each.name.startsWith("on"))).length,
          foreign: document.querySelectorAll("img, iframe, object, embed, style, base, math").length,
          protocols: [...document.links].map(link => link.protocol),
          forms: [...document.forms].map(form => new URL(form.getAttribute("action") ?? "", location).origin),
          links: [...document.links].filter(link => link.origin === location.origin)
            .map(link => link.pathname + link.search),
          here: location.origin,
        })"""
    )
    assert set(found["scripts"]) <= {"/page/page.js"}, address
    assert (found["handlers"], found["foreign"]) == (0, 0), address
    assert set(found["protocols"]) <= {"http:", "https:", "mailto:"}, address
    assert set(found["forms"]) <= {found["here"]}, address
    return list(found["links"])


def alike(address: str) -> str:
    """Addresses that differ only by a number are the same view."""
    path, _, query = address.partition("?")
    return re.sub(r"\d+", "N", path) + "?" + ",".join(sorted(re.findall(r"(\w+)=", query)))


def test_no_view_that_can_be_reached_runs_a_script(page: Page) -> None:
    waiting = [
        "/",
        "/overview",
        "/memories",
        "/plans",
        "/quality",
        "/maintenance",
        "/imports",
        "/add",
        "/zones",
    ]
    seen: Counter[str] = Counter()
    opened = 0
    while waiting:
        opened += 1
        for link in view(page, waiting.pop(0)):
            seen[alike(link)] += 1
            if seen[alike(link)] <= 2:
                waiting.append(link)
    assert opened > 60


@pytest.mark.parametrize(
    "path", ["/", "/memories", "/overview", "/quality", "/plans", "/links/1", "/memories/1"]
)
def test_no_question_in_the_address_runs_a_script(page: Page, path: str) -> None:
    asked = {name: script(name) for name in QUESTIONS}
    view(page, f"{path}?{urlencode(asked)}")
    for name in ("q", "order", "now"):  # where the others are refused
        view(page, f"{path}?{urlencode({name: asked[name]})}")
    view(page, f"{path.rstrip('/')}/{quote(script('path'), safe='')}")


def test_no_name_of_a_file_runs_a_script(page: Page) -> None:
    page.goto("/add")
    names = (f"{script('file')}.md", "javascript:ran('file').md", f"{script('type')}.html", "a\u202egnp.md")
    files = [{"name": name, "mimeType": script("mime"), "buffer": name.encode()} for name in names]
    page.locator("form.drop input[type=file]").set_input_files(files)  # type: ignore[arg-type]  # of Playwright
    page.locator("form.drop button").click()
    page.wait_for_url("**/import/**")
    page.locator("progress").wait_for(state="detached")
    view(page, page.url)
    view(page, "/imports")


def test_no_name_of_a_program_runs_a_script(page: Page, served: tuple[Served, str]) -> None:
    running, key = served
    client = registered(running, client_name=script("client"))["client_id"]
    page.goto(authorization(client))
    view(page, page.url)
    assert "onerror=ran('client')" in page.locator("h1").inner_text()
    person = Person(running, key)
    with person.browser:
        person.decides(person.asked(authorization(client)))
    view(page, "/maintenance")
    assert "onerror=ran('client')" in page.locator("main").inner_text()
