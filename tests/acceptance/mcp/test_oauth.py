"""Programs elsewhere that people connect by OAuth: the SDK's own client, and what an attacker tries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import httpx2
import psycopg
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from pgrecall.embedded.shared_server import EmbeddedServer
from tests.acceptance.cli.command_tools import Command
from tests.acceptance.http.http_tools import PLAIN, Served, member
from tests.acceptance.mcp.mcp_tools import answer, run
from tests.acceptance.mcp.oauth_tools import (
    BACK,
    CHALLENGE,
    VERIFIER,
    Person,
    Storage,
    admitted,
    authorization,
    connecting,
    exchanged,
    refreshed,
    registered,
    serving_oauth,
    values_of,
)
from tests.acceptance.page.page_tools import Page, sent
from tests.databases import new_database
from tests.waiting import PATIENCE


@dataclass
class World:
    """A service with a key of two tenants, and one that may only read."""

    url: str
    served: Served
    keys: dict[str, str]
    browsers: ExitStack

    def person(self, key: str = "acme") -> Person:
        """Somebody with a key of this name, or with this key."""
        person = Person(self.served, self.keys.get(key, key))
        self.browsers.enter_context(person.browser)
        return person

    def connected(self, person: Person | None = None, **metadata: Any) -> tuple[str, str]:
        """The id of a client and the code that a person got for it."""
        person = person or self.person()
        client = registered(self.served, **metadata)["client_id"]
        return client, values_of(person.decides(person.asked(authorization(client))))["code"]

    def tokens(self, person: Person | None = None) -> tuple[str, dict[str, Any]]:
        client, code = self.connected(person)
        got = exchanged(self.served, client, code)
        assert got.status_code == 200, got.text
        return client, got.json()

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="module")
def world(server: EmbeddedServer, template: str) -> Iterator[World]:
    for url in new_database(server, template):
        keys = {}
        for tenant in ("acme", "other"):
            with member(url, tenant=tenant) as memory:
                memory.remember(f"The harbour of {tenant}.", key="harbour")
                keys[tenant] = memory.keys.create("page").secret
                keys[f"{tenant}, reading"] = memory.keys.create("reader", read_only=True).secret
        with serving_oauth(url) as served, ExitStack() as browsers:
            yield World(url, served, keys, browsers)


def test_the_clients_of_the_sdk_connect_refresh_and_sign_out(world: World) -> None:
    storage, served = Storage(), world.served

    async def connect(person: Person | None) -> None:
        async with connecting(served, storage, person) as client:
            found = await answer(client, "get", memory="harbour")
            assert "The harbour of acme." in str(found)
            await answer(client, "remember", body="The crane is back.")

    run(connect(world.person()))
    assert storage.tokens is not None
    assert storage.client is not None
    first = storage.tokens
    run(connect(None))  # with the tokens it keeps
    assert storage.tokens == first

    storage.tokens = first.model_copy(update={"access_token": "pgo_a" + "x" * 65})
    again = refreshed(served, storage.client.client_id, first.refresh_token or "").json()
    storage.tokens = type(first).model_validate(again)
    run(connect(None))
    assert not admitted(served, first.access_token)
    assert again["refresh_token"] != first.refresh_token

    form = {"client_id": storage.client.client_id, "token": again["refresh_token"]}
    assert served.client.post("/revoke", data=form).status_code == 200
    assert not admitted(served, again["access_token"])
    with pytest.raises(AssertionError, match="a person was asked"):
        run(connect(None))


def test_what_clients_learn_first(world: World) -> None:
    client, url = world.served.client, world.served.url
    refused = client.post("/mcp", json={})
    where = f"{url}/.well-known/oauth-protected-resource/mcp"
    assert (refused.status_code, f'resource_metadata="{where}"' in refused.headers["www-authenticate"]) == (
        401,
        True,
    )
    resource = client.get(where).json()
    assert (resource["resource"], resource["authorization_servers"]) == (f"{url}/mcp", [url])
    server = client.get("/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == url
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["token_endpoint_auth_methods_supported"] == ["none"]
    assert server["authorization_response_iss_parameter_supported"] is True


def test_what_a_person_sees(world: World) -> None:
    name = "<script>alert(1)</script>\u202eevil" + "x" * 5000
    client = registered(world.served, client_name=name, redirect_uris=["https://agents.example/back"])
    address = authorization(client["client_id"], redirect_uri="https://agents.example/back")
    person = world.person("other")
    page = person.asked(address)
    assert page.all("script", type="module") == page.all("script")  # none but the page's own
    assert "<script>alert(1)</script>evil" in page.said
    assert "\u202e" not in page.text
    assert len(page.said) < 2000
    assert "agents.example" in page.said
    assert "tenantother" in page.said
    assert "write, change and forget" in page.said
    shown = person.browser.get(person.browser.get(address).headers["location"])
    assert "frame-ancestors 'none'" in shown.headers["content-security-policy"]
    assert shown.headers["cache-control"] == "no-store"
    denied = values_of(person.decides(page, "deny"))
    assert denied == {"error": "access_denied", "state": "xyz", "iss": world.served.url}


@pytest.mark.parametrize(
    ("key", "asked", "decision", "granted"),
    [
        ("acme", None, "allow", "read write"),
        ("acme", "read write", "allow", "read write"),
        ("acme", "write", "allow", "write"),
        ("acme", "read", "allow", "read"),
        ("acme", None, "read", "read"),
        ("acme, reading", None, "allow", "read"),
        ("acme, reading", "write", "allow", "read"),
    ],
)
def test_a_token_is_never_wider_than_asked_than_allowed_and_than_the_key(
    world: World, key: str, asked: str | None, decision: str, granted: str
) -> None:
    served, person = world.served, world.person(key)
    client = registered(served)["client_id"]
    page = person.asked(authorization(client, scope=asked))
    writes = asked != "read" and key == "acme"
    assert ("write, change and forget" in page.said) is writes
    choices = [each.attributes["value"] for each in page.all("button", name="decision")]
    assert choices == ["allow", *(["read"] if writes else []), "deny"]
    code = values_of(person.decides(page, decision))["code"]
    got = exchanged(served, client, code).json()
    assert got["scope"] == granted
    form = {"grant_type": "refresh_token", "client_id": client, "refresh_token": got["refresh_token"]}
    if granted == "read":
        wider = served.client.post("/token", data={**form, "scope": "read write"})
        assert wider.json()["error"] == "invalid_scope"
    if granted == "read write":
        narrower = served.client.post("/token", data={**form, "scope": "read"})
        assert narrower.json()["error"] == "invalid_scope"
    again = served.client.post("/token", data=form).json()
    assert again["scope"] == granted
    assert may_write(world, again["access_token"]) is ("write" in granted)


@pytest.mark.parametrize("key", ["acme", "acme, reading"])
def test_a_key_that_may_only_read_is_served_the_tools_that_read(world: World, key: str) -> None:
    assert may_write(world, world.keys[key]) is (key == "acme")


def may_write(world: World, token: str) -> bool:
    """Whether the tools that change something are served; they refuse alike if called unasked."""
    return asyncio.run(_may_write(world, token))


async def _may_write(world: World, token: str) -> bool:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http,
        Client(streamable_http_client(f"{world.served.url}/mcp", http_client=http)) as client,
    ):
        before = world.run("SELECT count(*) FROM recall.search_log")
        assert "The harbour of acme." in str(await answer(client, "search", query="harbour"))
        logged = world.run("SELECT count(*) FROM recall.search_log") != before
        names = {tool.name for tool in (await client.list_tools()).tools}
        if "remember" not in names:
            with pytest.raises(MCPError, match="'remember' is not served"):
                await client.call_tool("remember", {"body": "The crane is back."})
        else:
            await answer(client, "remember", body="The crane is back.")
        assert logged is ("remember" in names) is ("forget" in names)
        return logged


def test_the_database_opens_no_grant_that_is_wider_than_its_key(world: World) -> None:
    """Whatever the service asks of it."""
    person = world.person("acme, reading")
    person.asked(authorization(registered(world.served)["client_id"]))
    cookie = person.browser.cookies["pgrecall_session"]
    with member(world.url) as memory:
        wide, narrow = f"pgo_c{'a' * 65}", f"pgo_c{'b' * 65}"
        assert not memory.keys.open_grant(cookie, wide, {"scopes": ["read", "write"]}, 60)
        assert memory.keys.open_grant(cookie, narrow, {"scopes": ["read"]}, 60)
        assert memory.keys.close_grant(narrow)


def test_what_is_granted_is_listed_and_ended(world: World) -> None:
    with member(world.url, tenant="other") as memory:
        for grant in memory.keys.grants():
            assert memory.keys.end_grant(grant.id)
        person = world.person("other")
        held = {}
        for name in ("Agent", "Chat"):
            client, code = world.connected(person, client_name=name)
            held[name] = exchanged(world.served, client, code).json()["access_token"]
        grants = {grant.client: grant for grant in memory.keys.grants()}
        assert set(grants) == {"Agent", "Chat"}
        agent = grants["Agent"]
        assert (agent.redirect, agent.scopes, agent.key_name) == (BACK, ["read", "write"], "page")
        with world.served.as_holder(world.keys["other"]) as caller:
            listed = caller.get("/v1/grants").json()
            assert {each["client"] for each in listed} == {"Agent", "Chat"}
            assert held["Agent"][5:27] not in str(listed)
            assert caller.delete(f"/v1/grants/{agent.id}").json() == {"changed": True}
            assert caller.delete(f"/v1/grants/{agent.id}").json() == {"changed": False}
        assert [admitted(world.served, held[name]) for name in ("Agent", "Chat")] == [False, True]
        with world.served.as_holder(world.keys["acme"]) as caller:
            assert caller.delete(f"/v1/grants/{grants['Chat'].id}").json() == {"changed": False}
        page = Page(person.browser.get("/maintenance"))
        assert "Connected programs" in page.said
        [form] = [form for form in page.forms if form.action.startswith("/grants/")]
        assert sent(person.browser, form).status_code == 303
        assert not admitted(world.served, held["Chat"])
        assert memory.keys.grants() == ()


def test_the_commands_list_and_end_what_is_granted(world: World, pgrecall: Command) -> None:
    with member(world.url, tenant="third") as memory:
        key = memory.keys.create("third").secret
    _, got = world.tokens(world.person(key))
    there = {"tenant": "third", "database_url": world.url}
    [grant] = pgrecall("keys", "grants", "--json", **there).json
    assert "read and write" in pgrecall("keys", "grants", **there).out
    assert pgrecall("keys", "end-grant", grant["id"], **there).out == "Ended.\n"
    assert not admitted(world.served, got["access_token"])
    gone = pgrecall("keys", "end-grant", grant["id"], **there)
    assert (gone.code, gone.err) == (1, "There is no such grant.\n")
    assert pgrecall("keys", "grants", **there).out == "No program has been connected by OAuth.\n"


@pytest.mark.parametrize(
    "uri",
    [
        "http://evil.example/back",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://user:secret@agents.example/",
        "https://agents.example/#part",
        "file:///etc/passwd",
        "https://agents.example/" + "x" * 300,
        "http://127.0.0.1.evil.example/",
        "http://127.0.0.1%2eevil.example/",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0/",
        "http://localhost./back",
        "java\nscript:alert(1)",
        "feed:javascript:alert(1)",
        "ms-msdt:/id",
        "search-ms:query=x",
        "chrome-extension://abc/x",
        "smb://evil.example/share",
        "microsoft-edge:https://evil.example/",
        "googlechromes://evil.example/",
        "gopher://127.0.0.1:6379/_x",
    ],
)
def test_redirects_that_nobody_may_register(world: World, uri: str) -> None:
    refused = world.served.client.post("/register", json={"redirect_uris": [BACK, uri]})
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_redirect_uri")


def test_registrations_are_small_and_store_nothing(world: World) -> None:
    client = world.served.client
    many = [f"https://agents.example/{n}" for n in range(11)]
    assert client.post("/register", json={"redirect_uris": many}).status_code == 400
    long = [f"https://agents.example/{n}{'x' * 250}" for n in range(5)]
    assert client.post("/register", json={"redirect_uris": long}).status_code == 400
    assert client.post("/register", content=b"x" * 9000).status_code == 413
    assert client.post("/register", content=b"[" * 8000).status_code == 400
    before = world.run("SELECT count(*) FROM recall.oauth_grant")
    made = registered(world.served, client_name="Agent", token_endpoint_auth_method="client_secret_post")
    assert made["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in made
    assert registered(world.served, client_name="Agent")["client_id"] == made["client_id"]
    assert world.run("SELECT count(*) FROM recall.oauth_grant") == before


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": BACK + "/more"},
        {"redirect_uri": "http://127.0.0.1:43210@evil.example/callback"},
        {"redirect_uri": BACK.replace("43210", "43211")},
        {"redirect_uri": BACK.replace("127.0.0.1", "localhost")},
        {"redirect_uri": BACK.replace("callback", "%63allback")},
        {"redirect_uri": BACK + "?code=stolen"},
        {"redirect_uri": BACK + "#"},
        {"client_id": "unknown"},
        {"client_id": "eyJuYW1lIjoiIiwicmVkaXJlY3RzIjpbImphdmFzY3JpcHQ6YWxlcnQoMSkiXX0"},
        {"redirect_uri": None},
        {"code_challenge": None},
        {"code_challenge": "short"},
        {"code_challenge_method": "plain"},
        {"response_type": "token"},
        {"resource": "https://elsewhere.example/mcp"},
        {"scope": "admin"},
        {"state": "x" * 3000},
    ],
)
def test_what_no_client_may_ask_for(world: World, changed: dict[str, str | None]) -> None:
    """Nobody is sent anywhere, not even to what the client has registered: an attacker can register, too."""
    client = registered(world.served)["client_id"]
    address = authorization(client, **changed)
    refused = world.served.client.get(address)
    assert refused.status_code == 400
    assert "location" not in refused.headers


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": "/elsewhere"},
        {"client_id": "bm90IGpzb24"},
        {"client_id": "é"},
        {"code_challenge": "short"},
    ],
)
def test_the_view_believes_no_address(world: World, changed: dict[str, str]) -> None:
    """Anybody can write one and send it to a person who is signed in."""
    person, client = world.person(), registered(world.served)["client_id"]
    page = person.asked(authorization(client))
    asked = {"client_id": client, "redirect_uri": BACK, "code_challenge": CHALLENGE, **changed}
    address = str(httpx.URL("/connect", params=asked))
    assert person.browser.get(address).status_code == 400
    [form] = [form for form in page.forms if form.action.startswith("/connect?")]
    form.action = address
    assert sent(person.browser, form, decision="allow").status_code == 400


def test_another_site_cannot_send_the_form(world: World) -> None:
    person, client = world.person(), registered(world.served)["client_id"]
    [form] = [f for f in person.asked(authorization(client)).forms if f.action.startswith("/connect?")]
    fields = {**form.fields, "decision": "allow"}
    before = world.run("SELECT count(*) FROM recall.oauth_grant")
    crossing = person.browser.post(form.action, data=fields, headers={"Sec-Fetch-Site": "cross-site"})
    assert crossing.status_code == 403
    forged = {**fields, "token": "0" * 64}
    same = {"Sec-Fetch-Site": "same-origin"}
    assert person.browser.post(form.action, data=forged, headers=same).status_code == 403
    with httpx.Client(base_url=world.served.url, **PLAIN) as stranger:
        assert stranger.post(form.action, data=fields, headers=same).status_code == 401
        # A session that an attacker plants is not known, and signing in makes another.
        stranger.cookies.set("pgrecall_session", "planted")
        opened = sent(stranger, Page(stranger.get("/")).form("/sign-in"), key=world.keys["acme"])
        assert "planted" not in opened.headers["set-cookie"]
    other = world.person("other")  # the token of one's own session is none of another's
    other.asked(authorization(client))
    assert other.browser.post(form.action, data=fields, headers=same).status_code == 403
    assert world.run("SELECT count(*) FROM recall.oauth_grant") == before


def test_a_code_is_for_its_client_verifier_and_redirect_and_works_once(world: World) -> None:
    served = world.served
    client, code = world.connected()
    other = registered(served, client_name="Another")["client_id"]
    assert exchanged(served, other, code).json()["error"] == "invalid_grant"
    assert exchanged(served, client, code, code_verifier="w" * 64).json()["error"] == "invalid_grant"
    assert exchanged(served, client, code, code_verifier=CHALLENGE).json()["error"] == "invalid_grant"
    elsewhere = exchanged(served, client, code, redirect_uri="https://evil.example/")
    assert elsewhere.json()["error"] == "invalid_request"
    assert not admitted(served, code)
    got = exchanged(served, client, code).json()
    assert admitted(served, got["access_token"])
    assert exchanged(served, client, code).json()["error"] == "invalid_grant"
    assert not admitted(served, got["access_token"])  # whoever used it twice, one of them had stolen it
    assert refreshed(served, client, got["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_refresh_token_is_for_its_client_and_works_once(world: World) -> None:
    served = world.served
    client, first = world.tokens()
    other = registered(served, client_name="Another")["client_id"]
    assert refreshed(served, other, first["refresh_token"]).json()["error"] == "invalid_grant"
    assert refreshed(served, client, first["access_token"]).json()["error"] == "invalid_grant"
    assert not admitted(served, first["refresh_token"])
    second = refreshed(served, client, first["refresh_token"]).json()
    assert admitted(served, second["access_token"])
    assert refreshed(served, client, first["refresh_token"]).json()["error"] == "invalid_grant"
    assert not admitted(served, second["access_token"])


@pytest.mark.parametrize("kind", ["code", "refresh"])
def test_what_is_sent_by_many_at_once_works_for_none(world: World, kind: str) -> None:
    """At most one gets tokens, and the others end them: one of them has stolen it."""
    client, secret = world.connected()
    form = {"client_id": client, "redirect_uri": BACK, "code_verifier": VERIFIER}
    if kind == "code":
        form |= {"grant_type": "authorization_code", "code": secret}
    else:
        refresh = exchanged(world.served, client, secret).json()["refresh_token"]
        form |= {"grant_type": "refresh_token", "refresh_token": refresh}

    def send(_: int) -> httpx.Response:
        with httpx.Client(base_url=world.served.url, **PLAIN) as own:
            return own.post("/token", data=form)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    got = [answer.json()["access_token"] for answer in answers if answer.status_code == 200]
    assert len(got) <= 1
    assert all(answer.json()["error"] == "invalid_grant" for answer in answers if answer.status_code != 200)
    assert not any(admitted(world.served, token) for token in got)


def test_a_key_that_may_only_read_writes_in_no_session_of_another(world: World) -> None:
    _, got = world.tokens()

    def post(holder: str, method: str, parameters: object, **headers: str) -> httpx.Response:
        headers |= {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {holder}"}
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        return world.served.client.post("/mcp", json=asked, headers=headers)

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    session = {"mcp-session-id": post(got["access_token"], "initialize", hello).headers["mcp-session-id"]}
    call = {"name": "remember", "arguments": {"body": "Written by a reader."}}
    called = post(world.keys["acme, reading"], "tools/call", call, **session)
    assert "is not served" in called.text
    assert world.run("SELECT count(*) FROM recall.memory WHERE body = 'Written by a reader.'") == [(0,)]


def test_an_address_without_a_path_is_sent_its_code(world: World) -> None:
    bare, person = "https://agents.example", world.person()
    client = registered(world.served, redirect_uris=[bare])["client_id"]
    page = person.asked(authorization(client, redirect_uri=bare))
    code = values_of(person.decides(page))["code"]
    assert exchanged(world.served, client, code, redirect_uri=bare).status_code == 200


def test_no_client_revokes_what_another_has(world: World) -> None:
    _, got = world.tokens()
    other = registered(world.served, client_name="Another")["client_id"]
    form = {"client_id": other, "token": got["access_token"]}
    assert world.served.client.post("/revoke", data=form).status_code == 200
    assert admitted(world.served, got["access_token"])


def test_tokens_end_with_their_time(world: World) -> None:
    client, got = world.tokens()
    name = "digest = sha256('{}'::bytea)".format(got["access_token"][5:27])
    world.run(f"UPDATE recall.oauth_grant SET access_ends_at = now() WHERE {name}")
    assert not admitted(world.served, got["access_token"])
    assert refreshed(world.served, client, got["refresh_token"]).status_code == 200
    world.run(f"UPDATE recall.oauth_grant SET ends_at = now() WHERE {name}")
    assert refreshed(world.served, client, got["refresh_token"]).json()["error"] == "invalid_grant"
    client, code = world.connected()
    world.run("UPDATE recall.oauth_grant SET ends_at = now() WHERE access IS NULL")
    assert exchanged(world.served, client, code).json()["error"] == "invalid_grant"


def test_tokens_die_with_their_key_and_are_of_its_tenant_alone(world: World) -> None:
    with member(world.url, tenant="other") as memory:
        made = memory.keys.create("short")
        person = world.person(made.secret)
        client, got = world.tokens(person)
        _, waiting = world.connected(person)
        storage = Storage()

        async def look() -> str:
            async with connecting(world.served, storage, world.person(made.secret)) as agent:
                return str(await answer(agent, "get", memory="harbour"))

        assert "The harbour of other." in run(look())
        headers = {"Authorization": f"Bearer {got['access_token']}"}
        for path in ("/v1/status", "/v1/memories"):  # it is for /mcp
            assert world.served.client.get(path, headers=headers).status_code == 401
        assert admitted(world.served, got["access_token"])
        assert memory.keys.revoke(made.key.id)
    assert not admitted(world.served, got["access_token"])
    assert refreshed(world.served, client, got["refresh_token"]).json()["error"] == "invalid_grant"
    assert exchanged(world.served, client, waiting).json()["error"] == "invalid_grant"


def test_a_session_of_one_tenant_is_none_of_another(world: World) -> None:
    sessions = []
    for key in ("acme", "other"):
        _, got = world.tokens(world.person(key))
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        headers = {
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {got['access_token']}",
        }
        opened = world.served.client.post("/mcp", json=asked, headers=headers)
        assert opened.status_code == 200
        sessions.append((headers, opened.headers["mcp-session-id"]))
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    (acme, of_acme), (other, of_other) = sessions
    for headers, session, status in ((acme, of_acme, 200), (acme, of_other, 404), (other, of_acme, 404)):
        sent_in = {**headers, "Mcp-Session-Id": session}
        assert world.served.client.post("/mcp", json=listing, headers=sent_in).status_code == status


def test_no_secret_is_stored_or_logged(world: World) -> None:
    client, code = world.connected()
    got = exchanged(world.served, client, code).json()
    [stored] = world.run(
        "SELECT string_agg(g::text, ' ') || string_agg(encode(secret, 'escape'), ' ') "
        "FROM recall.oauth_grant g"
    )
    logged = str(world.served.logged())
    for secret in (code, got["access_token"], got["refresh_token"], VERIFIER):
        assert secret not in str(stored)
        assert secret not in logged
        assert secret[5:27] not in str(stored)


def test_a_key_has_twenty_grants(world: World) -> None:
    with member(world.url) as memory:
        made = memory.keys.create("busy")
        person = world.person(made.secret)
        held = [world.tokens(person)[1]["access_token"] for _ in range(21)]
    count = world.run(f"SELECT count(*) FROM recall.oauth_grant WHERE key_id = {made.key.id}")
    assert count == [(20,)]
    assert [admitted(world.served, token) for token in (held[0], held[1], held[-1])] == [False, True, True]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--oauth", "http://memory.example"), "must be https"),
        (("--oauth", "https://memory.example/path"), "without a path"),
        (("--oauth", "https://me@memory.example"), "must be https"),
        (("--oauth", "https://memory.example", "--without-keys"), "--without-keys"),
        (("--oauth", "https://memory.example", "--no-page"), "--no-page"),
    ],
)
def test_addresses_that_nobody_can_serve_at(
    pgrecall: Command, database_url: str, arguments: tuple[str, ...], said: str
) -> None:
    refused = pgrecall("serve", *arguments, database_url=database_url)
    assert refused.code != 0
    assert said in refused.err
