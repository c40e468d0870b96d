"""Attacks on the page: forms of other sites, scripts in every field, foreign tenants, keys that only read."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from pgrecall import Memory
from pgrecall.faces.page.form_fields import file_name
from pgrecall.faces.page.markdown import render_markdown
from tests.acceptance.http.http_tools import PLAIN, Served, member
from tests.acceptance.page.page_tools import Page, sent
from tests.waiting import until

SAME = {"Sec-Fetch-Site": "same-origin"}
SCRIPTS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "![x](https://evil.example/pixel.png)",
    "<https://evil.example>",
    "[x](<javascript:alert(1)>)",
    "[x]( &#106;avascript:alert(1))",
    '[x](https://evil.example "onmouseover=alert(1)")',
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "# <iframe src=//evil.example>",
    "| a |\n|---|\n| <style>*{display:none}</style> |",
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "[a]: javascript:alert(1)\n\n[a]",
    "<form action=//evil.example><input name=token>",
    "[x](//evil.example/?q=1)",
    "\u202e\x1b[31m<b>",
    '<b onclick=alert(1) style="position:fixed">x</b>',
    "<a href=&#106;avascript:alert(1)>x</a>",
    "<div><b <script>alert(1)</script>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<pre><br/onload=alert(1)><a title='<script>' href=\"https://evil.example\">",
    "> " * 500 + "deep",
)
POSTS = (
    "/add", "/import", "/edit/{0}", "/pin/{0}", "/unpin/{0}", "/archive/{0}", "/unarchive/{0}", "/link/{0}",
    "/unlink/{0}", "/supersede/{0}", "/forget/{0}", "/feedback",
    "/plans/prune", "/plans/dedupe", "/plans/1/apply", "/plans/1/undo", "/plans/1/drop",
    "/restore/{0}", "/merge/{0}",
)  # fmt: skip
FORMS = (
    "/edit/{0}", "/link/{0}", "/supersede/{0}", "/forget/{0}", "/memories/{0}", "/links/{0}", "/versions/{0}",
    "/versions/{0}/1", "/merge/{0}",
)  # fmt: skip


@pytest.fixture(scope="module")
def keys(url: str) -> dict[str, str]:
    """A key of either tenant, and one of acme that may only read."""
    made = {}
    for tenant in ("acme", "other"):
        with member(url, tenant=tenant) as memory:
            memory.remember(f"The harbour of {tenant}.", key=f"of-{tenant}", title=f"Harbour {tenant}")
            made[tenant] = memory.keys.create("page").secret
            if tenant == "acme":
                made["reader"] = memory.keys.create("reader", read_only=True).secret
                memory.plans.prune()
    return made


@pytest.fixture
def holder(served: Served, keys: dict[str, str], request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """Somebody signed in; a test may ask for another key than acme's."""
    with httpx.Client(base_url=served.url, **PLAIN) as client:
        form = Page(client.get("/plans")).form("/sign-in")
        assert sent(client, form, key=keys[getattr(request, "param", "acme")]).status_code == 303
        yield client


@pytest.fixture(scope="module")
def members(keys: dict[str, str], url: str) -> Iterator[dict[str, Memory]]:
    """A Python client of each tenant."""
    with member(url, tenant="acme") as acme, member(url, tenant="other") as other:
        yield {"acme": acme, "other": other}


def ids(members: dict[str, Memory]) -> dict[str, int]:
    return {tenant: memory.get(f"of-{tenant}").id for tenant, memory in members.items()}


def everything(members: dict[str, Memory]) -> object:
    """What both tenants hold, to see that nothing was changed."""
    held = []
    for memory in members.values():
        listed = memory.list(include_archived=True, include_superseded=True, limit=1000)
        found = [memory.get(one.id) for one in listed]
        held.append([(one.id, one.updated_at, one.pinned, one.archived_at, one.links) for one in found])
        held.append([(plan.id, plan.state) for plan in memory.plans.list()])
    return held


def token_of(client: httpx.Client) -> str:
    return next(form for form in Page(client.get("/plans")).forms if "token" in form.fields).fields["token"]


@pytest.mark.parametrize("path", POSTS)
def test_no_other_site_and_no_wrong_token_changes_anything(
    holder: httpx.Client, members: dict[str, Memory], path: str
) -> None:
    number = ids(members)["acme"]
    before, token = everything(members), token_of(holder)
    values = {"token": token, "body": "x", "sure": "1", "other": "1", "memory": "1", "verdict": "used"}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}, {}):
        assert holder.post(path.format(number), data=values, headers=headers).status_code == 403
    for wrong in ("", "0" * 64, token[:-1]):
        answer = holder.post(path.format(number), data={**values, "token": wrong}, headers=SAME)
        assert answer.status_code == 403
    files = [("files", ("a.md", b"Stolen."))]
    if path == "/import":
        assert holder.post(path, data={"token": "0"}, files=files, headers=SAME).status_code == 403
        crossing = {"Sec-Fetch-Site": "cross-site"}
        assert holder.post(path, data=values, files=files, headers=crossing).status_code == 403
    assert everything(members) == before


@pytest.mark.parametrize("holder", ["reader"], indirect=True)
@pytest.mark.parametrize("path", POSTS)
def test_a_key_that_may_only_read_gets_403(
    holder: httpx.Client, members: dict[str, Memory], path: str
) -> None:
    before = everything(members)
    values = {"token": token_of(holder), "body": "x", "sure": "1", "other": "1", "named": "of-acme"}
    answer = holder.post(path.format(ids(members)["acme"]), data=values, headers=SAME)
    assert answer.status_code == 403
    assert "Your key is read-only" in Page(answer).said
    assert everything(members) == before


@pytest.mark.parametrize("holder", ["reader"], indirect=True)
def test_a_key_that_may_only_read_sees_no_button_that_writes(
    holder: httpx.Client, members: dict[str, Memory]
) -> None:
    number = ids(members)["acme"]
    assert "Harbour acme" in Page(holder.get("/memories")).said, "it sees what there is"
    views = ("/", "/?q=harbour", "/plans", "/plans/1", "/quality", "/add", "/maintenance")
    for path in (*views, *FORMS):
        page = Page(holder.get(path.format(number)))
        posts = {form.action.partition("#")[0] for form in page.forms if form.method == "POST"}
        # A replay and a verification write nothing.
        assert posts <= {"/sign-out", "/maintenance/verify", "/quality/replay"}, path
        assert "read-only" in page.said
        links = {element.attributes.get("href") or "" for element in page.all("a")}
        assert not {link for link in links if link.startswith(("/edit/", "/add", "/forget/"))}, path
    assert sent(holder, Page(holder.get("/plans")).form("/sign-out")).status_code == 303


@pytest.mark.parametrize("holder", ["reader"], indirect=True)
def test_a_reader_cannot_forge_a_session_that_writes(
    holder: httpx.Client, served: Served, members: dict[str, Memory]
) -> None:
    cookie = holder.cookies["pgrecall_session"]
    assert cookie.startswith("read.")
    with httpx.Client(base_url=served.url, **PLAIN) as forged:
        forged.cookies.set("pgrecall_session", cookie.removeprefix("read."))
        assert forged.get("/plans").status_code == 401


@pytest.mark.parametrize("path", FORMS)
def test_memories_of_other_tenants_do_not_exist(
    holder: httpx.Client, members: dict[str, Memory], path: str
) -> None:
    number = ids(members)["other"]
    answer = holder.get(path.format(number))
    assert answer.status_code == 404
    assert "of other" not in answer.text


@pytest.mark.parametrize("path", [path for path in POSTS if "{0}" in path])
def test_memories_of_other_tenants_cannot_be_changed(
    holder: httpx.Client, members: dict[str, Memory], path: str
) -> None:
    before, found = everything(members), ids(members)
    values = {"token": token_of(holder), "body": "Taken over.", "sure": "1", "relation": "mentions"}
    theirs = holder.post(path.format(found["other"]), data={**values, "named": "of-acme"}, headers=SAME)
    assert theirs.status_code == 404, path
    if path.startswith(("/link", "/unlink", "/supersede", "/merge")):
        ends = {**values, "other": str(found["other"])}
        mine = holder.post(path.format(found["acme"]), data=ends, headers=SAME)
        assert mine.status_code == 404, path
        assert "of other" not in mine.text
    assert everything(members) == before


def imported(client: httpx.Client) -> str:
    """The address of an import of a note, once it is done: one runs at a time for each tenant."""
    files = [("files", ("note.md", b"A note."))]
    answer = client.post("/import", data={"token": token_of(client)}, files=files, headers=SAME)
    assert answer.status_code == 303, answer.text
    address = answer.headers["location"]
    asked = {"Accept": "application/json"}
    until(lambda: client.get(address, headers=asked).json()["done"], "the import")
    return str(address)


@pytest.fixture
def other(served: Served, keys: dict[str, str]) -> Iterator[httpx.Client]:
    """Another tenant, signed in."""
    with httpx.Client(base_url=served.url, **PLAIN) as client:
        assert sent(client, Page(client.get("/plans")).form("/sign-in"), key=keys["other"]).status_code == 303
        yield client


def test_an_import_of_another_tenant_is_not_shown(holder: httpx.Client, other: httpx.Client) -> None:
    mine = imported(holder)
    assert other.get(mine).status_code == 404
    assert holder.get(mine).status_code == 200


def test_no_import_makes_that_of_another_tenant_forgotten(holder: httpx.Client, other: httpx.Client) -> None:
    """However many one tenant starts: it keeps its own newest."""
    mine = imported(holder)
    others = [imported(other) for _ in range(55)]
    assert [n for n in others if other.get(n).status_code == 200] == others[-20:]
    assert holder.get(mine).status_code == 200


@pytest.mark.parametrize("text", SCRIPTS)
def test_markdown_brings_no_script_and_no_address_that_acts(text: str) -> None:
    html = str(render_markdown(text))
    page = Page(
        httpx.Response(200, headers={"content-type": "text/html; charset=utf-8"}, text=f"<div>{html}</div>")
    )
    assert {element.tag for element in page.elements} <= {
        "div", "p", "br", "a", "h3", "pre", "code", "blockquote", "table", "thead", "tbody", "tr", "th", "td",
        "b",
    }  # fmt: skip
    for element in page.elements:
        assert set(element.attributes) <= {"href", "title", "rel", "start"}
        address = element.attributes.get("href") or "https:"
        assert address.startswith(("https:", "http:", "mailto:", "//evil.example")), address
        if element.tag == "a":
            assert element.attributes["rel"] == "noopener noreferrer nofollow"


def test_scripts_stay_text_in_every_field_of_every_view(
    holder: httpx.Client, members: dict[str, Memory]
) -> None:
    hostile = "\n\n".join(SCRIPTS)
    short = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    form = next(form for form in Page(holder.get("/add")).forms if form.action == "/add")
    made = sent(holder, form, body=hostile, title=short, tags=short, author=short, key=short)
    address = made.headers["location"].partition("?")[0]
    number = address.rpartition("/")[2]
    edited = Page(holder.get(f"/edit/{number}")).form(f"/edit/{number}")
    pages = [
        holder.get(sent(holder, edited, author=f"{short}!").headers["location"]),
        *(holder.get(path.format(number)) for path in (*FORMS, "/", "/memories", "/?q=alert", "/add")),
    ]
    pages.append(holder.get(f"/memories/{number}", params={"done": short, "other": short, "relation": short}))
    said = "\n".join(f"user: Always {one}" for one in SCRIPTS if "\n" not in one and len(one) < 100)
    for query in (short, "no, when was that?"):  # what a query was completed with is shown, too
        pages.append(holder.get("/", params={"q": query, "turns": f"{said}\n</textarea>{short}"}))
    pages.append(
        holder.get("/memories", params={"tags": short, "author": short, "source": short, "order": short})
    )
    for answer in pages:
        assert answer.status_code == 200, answer.url
        page = Page(answer)
        assert {e.attributes.get("src") for e in page.all("script")} == {"/page/page.js"}, answer.url
        assert not page.all("img")
        assert not page.all("iframe")
        assert not page.all("style")
        assert not [name for e in page.elements for name in e.attributes if name.startswith("on")]
        addresses = [e.attributes.get("href") or "" for e in page.all("a")]
        assert not [one for one in addresses if one.lower().startswith(("javascript:", "data:", "vbscript:"))]
        assert {form.action.partition("/")[0] for form in page.forms} == {""}, "forms go to this site"


def test_an_address_that_claims_an_action_shows_no_undo_to_who_comes_from_elsewhere(
    holder: httpx.Client, members: dict[str, Memory]
) -> None:
    number = ids(members)["acme"]
    claimed = {"done": "unlinked", "other": "1", "relation": "contradicts"}
    ours = Page(holder.get(f"/memories/{number}", params=claimed))
    assert "Link removed." in ours.said
    strange = holder.get(f"/memories/{number}", params=claimed, headers={"Sec-Fetch-Site": "cross-site"})
    assert "Link removed." not in Page(strange).said


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\y.md", "y.md"),
        ("..", ""),
        ("", ""),
        (".md", "md"),
        ("a\0b\n<c>.md", "a_b__c_.md"),
        ("x" * 500 + ".md", "x" * 117 + ".md"),
        ("größe 日本.md", "größe 日本.md"),
    ],
)
def test_a_file_name_leads_nowhere_else(given: str, kept: str) -> None:
    assert file_name(given) == kept
