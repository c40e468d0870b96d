"""A tenant with a key and an SQL login: requests that wait for its own lock leave others their share.

The deadlines are those of every test that waits for something; nothing is said about speed.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import Memory
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.acceptance.http.http_tools import PLAIN, Served, serving, waiting
from tests.conftest import DIMENSIONS
from tests.waiting import until

pytestmark = pytest.mark.attack

REQUESTS = 90
"""At once: more than the queue takes, and fewer than the connections that may wait from one address."""
POOL = 4
SHARE = POOL // 2
MCP = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "attacker", "version": "1"},
}


@pytest.fixture
def secrets(database_url: str, own_logins: dict[str, str]) -> dict[str, str]:
    """A key of each tenant; both have a memory with the key `plan`."""
    url = make_conninfo(database_url, user=own_logins["service"])
    made = {}
    with Memory(url, settings=Settings(embedder="none"), embedder=HashEmbedder(DIMENSIONS)) as memory:
        for name in ("acme", "globex"):
            tenant = memory.for_tenant(name)
            tenant.remember("The harbour contract is signed on Friday.", key="plan")
            made[name] = tenant.keys.create("holder").secret
    return made


@pytest.fixture
def served(database_url: str, own_logins: dict[str, str], secrets: dict[str, str]) -> Iterator[Served]:
    """A service that asks for keys, since there are some when it starts."""
    url = make_conninfo(database_url, user=own_logins["service"])
    limits = {"pool_size": str(POOL), "http_queue": "40"}
    with serving(url, allow_superuser="0", **limits) as running:
        yield running


@contextmanager
def held(database_url: str, own_logins: dict[str, str]) -> Iterator[psycopg.Connection]:
    """A transaction of acme's own login that has changed its memory; whoever else changes it waits."""
    with psycopg.connect(make_conninfo(database_url, user=own_logins["app"])) as connection:
        connection.execute("SELECT recall.edit(recall.id_of('plan'), '{\"author\": \"acme\"}')")
        yield connection
        connection.rollback()


async def flood(
    served: Served, secret: str, send: str, answers: list[httpx.Response], over: asyncio.Event
) -> None:
    """Keeps so many requests of a kind under way until it is over."""
    headers = {"Authorization": f"Bearer {secret}"}

    async def one(number: int) -> None:
        # Each has a client of its own: a client looks at all of its connections for each request. None is
        # kept: the service may close an idle one just when a busy machine sends the next request over it.
        kept = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=served.url, headers=headers, limits=kept, **PLAIN) as client:
            while not over.is_set():
                answers.append(await _SENDERS[send](client, number))
                await asyncio.sleep(0.5)  # or the flood takes the processor from what it attacks

    tasks = [asyncio.create_task(one(number)) for number in range(REQUESTS)]
    await over.wait()
    await asyncio.wait(tasks)


async def _edit(client: httpx.AsyncClient, number: int) -> httpx.Response:
    return await client.patch("/v1/memories/plan", json={"author": f"acme {number}"})


async def _tool(client: httpx.AsyncClient, number: int) -> httpx.Response:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    session = (await client.post("/mcp", json=hello, headers=MCP)).headers.get("mcp-session-id", "")
    called = {"name": "forget", "arguments": {"memory": "plan"}}
    call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": called}
    return await client.post("/mcp", json=call, headers={**MCP, "mcp-session-id": session})


_SENDERS = {"http": _edit, "mcp": _tool}


async def searched(served: Served, secret: str, many: int) -> list[int]:
    """The answers to searches of another tenant, one after the other, each over a connection of its own."""
    headers = {"Authorization": f"Bearer {secret}"}
    statuses = []
    for _ in range(many):
        async with httpx.AsyncClient(base_url=served.url, headers=headers, **PLAIN) as client:
            statuses.append((await client.post("/v1/search", json={"query": "harbour contract"})).status_code)
    return statuses


@pytest.mark.parametrize("send", ["http", "mcp"])
def test_another_tenant_is_served_while_one_waits_for_its_own_lock(
    send: str, served: Served, secrets: dict[str, str], own_logins: dict[str, str], database_url: str
) -> None:
    answers: list[httpx.Response] = []

    async def scenario(holding: psycopg.Connection) -> list[int]:
        over = asyncio.Event()
        attack = asyncio.create_task(flood(served, secrets["acme"], send, answers, over))
        try:
            await asyncio.to_thread(until, lambda: waiting(database_url) >= SHARE, "a full share")
            first = await searched(served, secrets["globex"], 10)
            await asyncio.to_thread(until, lambda: len(answers) > REQUESTS, "refusals")
            assert await asyncio.to_thread(waiting, database_url) == SHARE
            return first + await searched(served, secrets["globex"], 10)
        finally:
            over.set()
            await asyncio.to_thread(holding.rollback)
            await attack

    with held(database_url, own_logins) as holding:
        assert asyncio.run(scenario(holding)) == [200] * 20
    if send == "http":
        assert {answer.status_code for answer in answers} <= {200, 429, 503}  # 503: for a key not seen yet
        refused = [answer for answer in answers if answer.status_code == 429]
        assert all(1 <= int(answer.headers["retry-after"]) <= 30 for answer in refused)
        reasons = [answer.json()["detail"] for answer in refused]
        # The first ones can come while the queue is full and only one request runs, and they say so.
        assert all(re.match(rf"Your tenant has [0-{SHARE}] requests? running", reason) for reason in reasons)
        assert any(reason.startswith(f"Your tenant has {SHARE} ") for reason in reasons)
    else:
        assert any("Your tenant has" in answer.text for answer in answers)
    figures = served.client.get("/metrics").text
    assert f"pgrecall_http_share {SHARE}.0" in figures
    name = "pgrecall_http_refused_for_share_total "
    [refusals] = [each for each in figures.splitlines() if each.startswith(name)]
    assert float(refusals.split()[1]) > 0


def test_the_page_signs_in_others_while_one_waits_for_its_own_key(
    served: Served, secrets: dict[str, str], own_logins: dict[str, str], database_url: str
) -> None:
    """Opening a session waits for the row of its key, which that tenant's login can lock."""
    origin = {"Origin": served.url}

    async def sign_in(secret: str) -> int:
        async with httpx.AsyncClient(base_url=served.url, headers=origin, **PLAIN) as client:
            form = (await client.get("/sign-in")).text
            token = form.partition('name="token" value="')[2].partition('"')[0]
            return (await client.post("/sign-in", data={"token": token, "key": secret})).status_code

    async def scenario(holding: psycopg.Connection) -> list[int]:
        attacks = [asyncio.create_task(sign_in(secrets["acme"])) for _ in range(20)]
        try:
            await asyncio.to_thread(until, lambda: waiting(database_url) >= SHARE, "a full share")
            return [await sign_in(secrets["globex"]) for _ in range(5)]
        finally:
            await asyncio.to_thread(holding.rollback)
            await asyncio.gather(*attacks)

    with psycopg.connect(make_conninfo(database_url, user=own_logins["app"])) as holding:
        holding.execute("SELECT recall.revoke_key(k.id) FROM recall.keys() k")
        assert asyncio.run(scenario(holding)) == [303] * 5


def test_sessions_of_one_tenant_do_not_use_up_those_of_others(
    served: Served, secrets: dict[str, str]
) -> None:
    """MCP: a tenant that opens sessions without end is refused more, and the others are not."""
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
    with served.as_holder(secrets["acme"]) as acme, served.as_holder(secrets["globex"]) as globex:
        for _ in range(600):
            if (refused := acme.post("/mcp", content=hello, headers=MCP)).status_code != 200:
                break
        assert refused.status_code == 503
        assert "Too many open sessions" in refused.text
        assert globex.post("/mcp", content=hello, headers=MCP).status_code == 200
