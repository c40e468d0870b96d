"""The page where keys are needed: signing in and out, sessions that end, and tenants that do not meet."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import psycopg
import pytest

from tests.acceptance.http.http_tools import PLAIN, Served, is_problem, member, serving
from tests.acceptance.page.page_tools import Page, complaints, sent

COOKIE = "pgrecall_session"


@pytest.fixture(scope="module")
def keys(url: str) -> dict[str, str]:
    """A key of either tenant, each of which holds one memory."""
    made = {}
    for tenant in ("acme", "other"):
        with member(url, tenant=tenant) as memory:
            memory.remember(f"The harbour of {tenant}.", key=f"of-{tenant}")
            made[tenant] = memory.keys.create("page").secret
    return made


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    """A client with cookies of its own, that follows no redirect by itself."""
    with httpx.Client(base_url=served.url, **PLAIN) as client:
        yield client


def signed_in(browser: httpx.Client, key: str, path: str = "/") -> httpx.Response:
    return sent(browser, Page(browser.get(path)).form("/sign-in"), key=key)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?q=harbour",
        "/overview",
        "/memories/1",
        "/links/1",
        "/plans",
        "/quality",
        "/maintenance",
    ],
)
def test_without_a_key_there_is_only_the_form(browser: httpx.Client, path: str) -> None:
    answer = browser.get(path)
    page = Page(answer)
    assert answer.status_code == 401
    assert page.form("/sign-in").fields["next"] == path
    assert complaints(page) == []
    assert "harbour of" not in page.said
    assert "set-cookie" not in answer.headers


def test_a_key_opens_what_was_asked_for_and_its_tenant_alone(
    browser: httpx.Client, keys: dict[str, str]
) -> None:
    answer = signed_in(browser, keys["acme"], "/?q=harbour")
    assert (answer.status_code, answer.headers["location"]) == (303, "/?q=harbour")
    kept = answer.headers["set-cookie"].lower()
    assert all(part in kept for part in ("httponly", "samesite=strict", "path=/", "max-age=43200"))
    assert keys["acme"] not in answer.headers["set-cookie"]
    found = Page(browser.get("/?q=harbour"))
    assert "The harbour of acme." in found.said
    assert "of other" not in found.said
    assert browser.get("/memories/of-other").status_code == 404
    assert "tenant acme" in found.said


@pytest.mark.parametrize("key", ["", "nonsense", "pgr_unknown_but_long_enough_to_be_one", "pgr_\u00e9\u00e9"])
def test_another_key_opens_nothing(browser: httpx.Client, key: str) -> None:
    answer = signed_in(browser, key)
    assert answer.status_code == 401
    assert "unknown or revoked" in Page(answer).said
    assert COOKIE not in browser.cookies


def test_signing_out_ends_every_copy_of_a_session(
    browser: httpx.Client, keys: dict[str, str], served: Served
) -> None:
    signed_in(browser, keys["acme"])
    copied = browser.cookies[COOKIE]
    sent(browser, Page(browser.get("/plans")).form("/sign-out"))
    assert COOKIE not in browser.cookies
    with httpx.Client(base_url=served.url, cookies={COOKIE: copied}, **PLAIN) as thief:
        assert thief.get("/plans").status_code == 401


def test_a_revoked_key_opens_nothing_from_the_next_request_on(browser: httpx.Client, url: str) -> None:
    with member(url) as memory:
        made = memory.keys.create("short-lived")
        signed_in(browser, made.secret)
        assert browser.get("/plans").status_code == 200
        memory.keys.revoke(made.key.id)
    answer = browser.get("/plans")
    assert answer.status_code == 401
    assert "was revoked" in Page(answer).said


def test_a_form_belongs_to_its_session(browser: httpx.Client, keys: dict[str, str], served: Served) -> None:
    signed_in(browser, keys["acme"])
    form = Page(browser.get("/plans")).form("/plans/prune")
    with httpx.Client(base_url=served.url, **PLAIN) as other:
        signed_in(other, keys["acme"])
        stale = sent(other, form)
    assert stale.status_code == 403
    assert "reload the page" in Page(stale).said
    assert sent(browser, form, grace_days="0").status_code == 303


def test_another_site_cannot_sign_a_user_in(browser: httpx.Client, keys: dict[str, str]) -> None:
    form = Page(browser.get("/")).form("/sign-in")
    answer = browser.post(
        "/sign-in", data={**form.fields, "key": keys["other"]}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert answer.status_code == 403
    assert COOKIE not in browser.cookies


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "overview", ""]
)
def test_signing_in_leads_nowhere_else(browser: httpx.Client, keys: dict[str, str], target: str) -> None:
    form = Page(browser.get("/")).form("/sign-in")
    answer = sent(browser, form, key=keys["acme"], next=target)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_session_opens_the_page_and_not_the_api(browser: httpx.Client, keys: dict[str, str]) -> None:
    signed_in(browser, keys["acme"])
    assert is_problem(browser.get("/v1/status"), 401, "unauthorized")
    assert is_problem(browser.post("/v1/search", json={"query": "harbour"}), 401, "unauthorized")


def test_no_line_of_the_log_holds_a_key(browser: httpx.Client, keys: dict[str, str], served: Served) -> None:
    signed_in(browser, keys["acme"])
    served.logged_once("route", "/sign-in")
    lines = str(served.logged())
    assert not any(key in lines or key[4:20] in lines for key in keys.values())
    assert browser.cookies[COOKIE] not in lines


def test_a_thousand_sign_ins_of_one_key_end_no_session_of_another(
    browser: httpx.Client, keys: dict[str, str], url: str
) -> None:
    signed_in(browser, keys["other"])
    with member(url) as memory:
        cookies = [f"cookie {number}" for number in range(1_000)]
        assert all(memory.keys.open_session(keys["acme"], cookie, 12 * 3600) for cookie in cookies)
        alive = [cookie for cookie in cookies if memory.keys.session_tenant(cookie) is not None]
    assert alive == cookies[-20:]
    assert browser.get("/plans").status_code == 200


def test_a_session_survives_a_restart_of_the_service_and_so_do_its_forms(
    browser: httpx.Client, keys: dict[str, str], url: str
) -> None:
    signed_in(browser, keys["acme"])
    form = Page(browser.get("/plans")).form("/plans/prune")
    cookie = browser.cookies[COOKIE]
    with (
        serving(url) as again,
        httpx.Client(base_url=again.url, cookies={COOKIE: cookie}, **PLAIN) as later,
    ):
        assert later.get("/plans").status_code == 200
        assert sent(later, form, grace_days="0").status_code == 303


def test_the_database_holds_neither_keys_nor_cookies(
    browser: httpx.Client, keys: dict[str, str], url: str
) -> None:
    signed_in(browser, keys["acme"])
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT s::text, k::text FROM recall.page_session s, recall.api_key k"
        ).fetchall()
    assert rows
    for secret in (browser.cookies[COOKIE], keys["acme"]):
        for place in range(len(secret) - 15):  # a part of it would be enough to guess the rest
            part = secret[place : place + 16]
            assert part not in str(rows)
            assert part.encode().hex() not in str(rows)


def test_a_session_ends_after_its_time(keys: dict[str, str], url: str) -> None:
    with member(url) as memory, psycopg.connect(url, autocommit=True) as connection:
        memory.keys.open_session(keys["acme"], "short", 60)
        assert memory.keys.session_tenant("short") == "acme"
        connection.execute("UPDATE recall.page_session SET ends_at = now()")
        assert memory.keys.session_tenant("short") is None
