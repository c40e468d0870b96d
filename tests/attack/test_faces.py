"""The faces: HTTP with two keys, MCP, the client and the command reach for another tenant's memories.

A service serves both tenants. What the holder of acme's key is told of a memory, search or plan of globex is
what he is told of one that was never there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from psycopg.conninfo import make_conninfo
from starlette.applications import Starlette
from starlette.routing import Route

from pgrecall import Memory, RecallError
from pgrecall.faces.http.service import Service
from pgrecall.faces.page.app import create_page
from pgrecall.nouns.keys.operations import new_token
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.acceptance.cli.command_tools import Command
from tests.acceptance.http.http_tools import PLAIN, Served, serving
from tests.acceptance.mcp.mcp_tools import connected, over_stdio, run, text_of
from tests.attack.world import GUESSED, KEY, UNKNOWN, World
from tests.conftest import DIMENSIONS

pytestmark = pytest.mark.attack

ABSENT = 900_000_001
ABSENT_KEY = "nobody-plan"

REQUESTS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/v1/memories/{memory}", None),
    ("PATCH", "/v1/memories/{memory}", {"body": "seen", "author": None}),
    ("DELETE", "/v1/memories/{memory}", None),
    ("DELETE", "/v1/memories/{memory}?hard=true", None),
    ("GET", "/v1/history/vitality/{memory}", None),
    ("GET", "/v1/versions/{memory}", None),
    ("PUT", "/v1/versions/{memory}", {"version": 1}),
    ("GET", "/v1/differences/{memory}?earlier=1", None),
    ("POST", "/v1/unarchive/{memory}", None),
    ("PUT", "/v1/pins/{memory}", None),
    ("DELETE", "/v1/pins/{memory}", None),
    ("POST", "/v1/links", {"source": "acme-plan", "target": "{memory}"}),
    ("POST", "/v1/links", {"source": "{memory}", "target": "acme-plan"}),
    ("POST", "/v1/supersede", {"old": "{memory}", "new": "acme-plan"}),
    ("POST", "/v1/supersede", {"old": "acme-plan", "new": "{memory}"}),
    ("POST", "/v1/accesses", {"accesses": [{"memory": "{memory}", "kind": "used"}]}),
    ("POST", "/v1/search", {"query": "contract", "cues": ["{memory}"], "log": False}),
    ("POST", "/v1/context", {"query": "contract", "cues": ["{memory}"], "log": False}),
    ("POST", "/v1/quality/miss", {"query": "contract", "memory": "{memory}"}),
    ("POST", "/v1/feedback/used", {"search_id": "{search}", "memories": ["{memory}"]}),
    ("POST", "/v1/feedback/rejected", {"search_id": "{search}", "memories": ["{memory}"]}),
    ("GET", "/v1/plans/{plan}", None),
    ("POST", "/v1/plans/{plan}/apply", None),
    ("POST", "/v1/plans/{plan}/undo", None),
    ("POST", "/v1/plans/merge", {"keeper": "acme-plan", "memories": ["{memory}"]}),
    ("POST", "/v1/plans/merge", {"keeper": "{memory}", "memories": ["acme-plan"]}),
    ("DELETE", "/v1/plans/{plan}", None),
    ("GET", "/v1/plans/{dedupe}", None),
    ("POST", "/v1/plans/{dedupe}/apply", None),
    ("POST", "/v1/plans/{dedupe}/undo", None),
    ("GET", "/v1/erasures/{erasure}", None),
    ("POST", "/v1/erasures/{erasure}/apply", {"signed_by": "acme"}),
    ("DELETE", "/v1/erasures/{erasure}", None),
    ("POST", "/v1/share/{memory}", {"to": "globex"}),
    ("DELETE", "/v1/grants/{grant}", None),
)
"""Requests that name something; sent for what is globex's and for what was never there."""

NO_GRANT = "0" * 16

NAMELESS = {
    "/v1/memories",
    "/v1/memories/batch",
    "/v1/forget-session",
    "/v1/unarchive-session",
    "/v1/plans",
    "/v1/plans/prune",
    "/v1/plans/dedupe",
    "/v1/plans/redact",
    "/v1/quality/replay",
    "/v1/erasures",
    "/v1/imports",
    "/v1/imports/undo",
    "/v1/imports/{number}",
    "/v1/layers",
    "/v1/layers/{name}",
    "/v1/layers/presets/{name}",
    "/v1/settings",
    "/v1/settings/{name}",
    "/healthz",
    "/readyz",
    "/metrics",
}
"""Routes that name nothing of anybody's, beside those that are only read."""


@pytest.fixture(scope="module")
def served(with_globex: World, logins: dict[str, str]) -> Iterator[Served]:
    """A service that logs in as a role that may name any tenant, and is refused nothing it needs."""
    url = make_conninfo(with_globex.url, user=logins["service"])
    with serving(url, allow_superuser="0") as running:
        yield running


@pytest.fixture(scope="module")
def secrets(with_globex: World, logins: dict[str, str]) -> dict[str, str]:
    url = make_conninfo(with_globex.url, user=logins["service"])
    with Memory(url, settings=Settings(embedder="none"), embedder=HashEmbedder(DIMENSIONS)) as memory:
        return {name: memory.for_tenant(name).keys.create("holder").secret for name in ("acme", "globex")}


@pytest.fixture(scope="module")
def grant(with_globex: World, logins: dict[str, str]) -> str:
    """What a client of globex was granted."""
    url = make_conninfo(with_globex.url, user=logins["service"])
    with Memory(url, settings=Settings(embedder="none"), embedder=HashEmbedder(DIMENSIONS)) as memory:
        keys = memory.for_tenant("globex").keys
        assert keys.open_session(keys.create("granted").secret, "cookie", 3600)
        assert keys.open_grant("cookie", new_token("c"), {}, 600)
        return keys.grants()[0].id


def filled(template: Any, names: dict[str, Any]) -> Any:
    """A body with these in place of what it names."""
    if isinstance(template, str) and template.startswith("{"):
        return names[template[1:-1]]
    if isinstance(template, dict):
        return {name: filled(value, names) for name, value in template.items()}
    return [filled(value, names) for value in template] if isinstance(template, list) else template


def response_to(
    client: httpx.Client, request: tuple[str, str, Any], names: dict[str, Any]
) -> tuple[int, str]:
    method, path, body = request
    answer = client.request(method, path.format(**names), json=filled(body, names))
    text = re.sub(r'"(?:instance|request_id|search_id|timings)":\s*("[^"]*"|\d+|\{[^}]*\})', "", answer.text)
    for value in sorted({str(value) for value in names.values()}, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.]){re.escape(value)}(?![\w.])", "X", text)
    return answer.status_code, text


def readable(client: httpx.Client) -> dict[str, Any]:
    """Operations by route, of the routes that can be read and have no name in their path."""
    routes: dict[str, dict[str, Any]] = client.get("/openapi.json").json()["paths"]
    return {
        path: methods
        for path, methods in routes.items()
        if path.startswith("/v1/") and "get" in methods and "{" not in path
    }


def test_a_key_reaches_nothing_of_another_tenant(
    served: Served, secrets: dict[str, str], grant: str, with_globex: World, tried: Counter[str]
) -> None:
    before, ids = with_globex.digest(), with_globex.ids
    with served.as_holder(secrets["acme"]) as acme:
        for request in REQUESTS:
            for own, absent in ((ids["memory"], ABSENT), (ids["other"], ABSENT), (KEY, ABSENT_KEY)):
                named = {name: ids[name] for name in ("search", "plan", "dedupe", "erasure")}
                found = response_to(acme, request, {"memory": own, "grant": grant, **named})
                nothing = {"memory": absent, "grant": NO_GRANT, **dict.fromkeys(named, ABSENT)}
                assert found == response_to(acme, request, nothing), request
                assert UNKNOWN not in found[1]
                tried["HTTP"] += 1
        for path in readable(acme):
            answer = acme.get(path).text
            assert UNKNOWN not in answer, path
            assert GUESSED not in answer, path
            assert "globex" not in answer, path
            tried["HTTP"] += 1
        for header in ("X-Tenant", "Tenant", "X-Pgrecall-Tenant"):
            answer = acme.get("/v1/status", headers={header: "globex"})
            assert answer.json()["tenant"] == "acme"
            assert acme.get("/v1/status", params={"tenant": "globex"}).status_code == 422
            tried["HTTP"] += 1
    assert with_globex.digest() == before
    with served.as_holder(secrets["globex"]) as globex:
        assert UNKNOWN in globex.get(f"/v1/memories/{KEY}").text
        assert grant in globex.get("/v1/grants").text


def test_every_route_was_attacked_or_names_nothing(served: Served, secrets: dict[str, str]) -> None:
    with served.as_holder(secrets["acme"]) as acme:
        routes = set(acme.get("/openapi.json").json()["paths"])
        only_read = {path for path, methods in readable(acme).items() if set(methods) == {"get"}}
    attacked = {path.partition("?")[0].replace("{dedupe}", "{plan}") for _, path, _ in REQUESTS}
    assert routes == attacked | NAMELESS | only_read


def page_routes() -> list[Route]:
    """Every view and form of the page, from the application itself."""
    bare = SimpleNamespace(settings=Settings(embedder="none"), importing=set())
    page = cast(Starlette, create_page(cast(Service, bare)))
    return [each for each in page.routes if isinstance(each, Route) and "sign-" not in each.path]


def test_the_page_shows_nothing_of_another_tenant(
    served: Served, secrets: dict[str, str], grant: str, with_globex: World, tried: Counter[str]
) -> None:
    before, ids = with_globex.digest(), with_globex.ids
    client = httpx.Client(base_url=served.url, headers={"Origin": served.url}, **PLAIN)

    def token(text: str) -> str:
        return text.partition('name="token" value="')[2].partition('"')[0]

    def asked(route: Route, memory: int | str, plan: int, granted: str) -> tuple[int, str]:
        values = {"memory": memory, "plan": plan, "grant": granted, "version": 1, "number": "4711"}
        values["listed"] = "alive"
        path = re.sub(r"\{(\w+)(?::path)?\}", lambda found: str(values[found[1]]), route.path)
        if "GET" in (route.methods or ()):
            answer = client.get(path)
        else:
            form = {"token": held, "other": str(memory), "search_id": str(ids["search"]), "version": "1"}
            answer = client.post(path, data=form)
        text = answer.text + answer.headers.get("location", "")
        for value in sorted({str(memory), str(plan), granted}, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.]){re.escape(value)}(?![\w.])", "X", text)
        return answer.status_code, text

    with client:
        form = {"token": token(client.get("/sign-in").text), "key": secrets["acme"]}
        assert client.post("/sign-in", data=form).status_code == 303
        held = token(client.get("/maintenance").text)
        assert held
        assert client.get("/memories/acme-plan").status_code == 200  # its own is shown
        for route in page_routes():
            if not re.search(r"\{(memory|plan|grant)", route.path):
                assert UNKNOWN not in asked(route, ABSENT, ABSENT, NO_GRANT)[1], route.path
                tried["page"] += 1
                continue
            plan = ids["plan"]
            for own, absent in ((ids["memory"], ABSENT), (ids["other"], ABSENT), (KEY, ABSENT_KEY)):
                found = asked(route, own, plan, grant)
                assert UNKNOWN not in found[1], route.path
                assert found[0] not in (401, 403, 405), route.path  # it was asked, and not turned away before
                assert found == asked(route, absent, ABSENT, NO_GRANT), route.path
                tried["page"] += 1
    assert with_globex.digest() == before


METHODS = ("get", "forget", "pin", "record_access", "charts.accesses", "charts.vitality_curve")
"""Of a client, each with what it is given first: a memory."""


@pytest.fixture
def of_acme(with_globex: World, logins: dict[str, str]) -> Iterator[Memory]:
    """A client that says it were globex's, over a login that is bound to acme."""
    url = make_conninfo(with_globex.url, user=logins["app"])
    settings = Settings(tenant="globex", embedder="hash", embedder_dimensions=DIMENSIONS)
    with Memory(url, settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        yield memory


def test_a_client_cannot_choose_whom_it_acts_for(
    of_acme: Memory, with_globex: World, tried: Counter[str]
) -> None:
    before, ids = with_globex.digest(), with_globex.ids
    for client in (of_acme, of_acme.for_tenant("globex"), of_acme.session(f"{GUESSED}-session")):
        for name in (ids["memory"], ids["other"], KEY):
            for method in METHODS:
                given = ([],) if method == "charts.vitality_curve" else ()
                try:
                    answer = repr(attrgetter(method)(client)(name, *given))
                except RecallError as error:
                    answer = str(error)
                assert UNKNOWN not in answer, method
                tried["client"] += 1
        assert [hit for hit in client.search(UNKNOWN).hits if UNKNOWN in hit.body] == []
        assert client.status().tenant == "acme"
        tried["client"] += 2
    assert with_globex.digest() == before


def test_a_command_cannot_either(
    bare_pgrecall: Command, with_globex: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    url = make_conninfo(with_globex.url, user=logins["app"])
    for command in (
        ("search", UNKNOWN), ("show", KEY), ("show", str(with_globex.ids["memory"])), ("context", UNKNOWN),
        ("plan", "show", str(with_globex.ids["plan"])), ("keys", "list"), ("feedback", "qrels"),
    ):  # fmt: skip
        done = bare_pgrecall("--tenant", "globex", *command, database_url=url)
        shown = (done.out + done.err).replace(f"'{UNKNOWN}'", "")
        assert f"{UNKNOWN} signs" not in shown, command
        assert f"{GUESSED} plan" not in shown, command
        tried["command"] += 1


def test_an_agent_cannot_either(with_globex: World, logins: dict[str, str], tried: Counter[str]) -> None:
    server = over_stdio(make_conninfo(with_globex.url, user=logins["app"]), tenant="globex")
    before, ids = with_globex.digest(), with_globex.ids
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": f"{GUESSED} contract"}), ("context", {"query": GUESSED}), ("status", {}),
        *((tool, {"memory": name}) for tool in ("get", "forget", "history") for name in (ids["memory"], KEY)),
        *(("diff", {"memory": name, "earlier": 1}) for name in (ids["memory"], KEY)),
        *(("restore", {"memory": name, "version": 1}) for name in (ids["memory"], KEY)),
        ("link", {"source": KEY, "target": "acme-plan"}), ("supersede", {"old": KEY, "new": "acme-plan"}),
        ("used", {"search_id": ids["search"], "memories": [ids["memory"]]}),
        ("prune_plan", {}), ("dedupe_plan", {}), ("changes", {}),
        # Last, because then acme has a memory with this key too.
        ("remember", {"body": "seen", "key": KEY, "links": [{"target": KEY}]}),
    ]  # fmt: skip

    async def scenario() -> None:
        async with connected(server) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            assert listed == {tool for tool, _ in calls}  # none is left out
            for tool, arguments in calls:
                result = await client.call_tool(tool, arguments)
                assert UNKNOWN not in text_of(result), tool
                tried["MCP"] += 1

    run(scenario())
    assert with_globex.digest() == before
