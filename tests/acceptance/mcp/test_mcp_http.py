"""The server over HTTP: alone on this machine, and as a route of an application that knows its tenants."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import httpx
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from pgrecall import AsyncMemory
from pgrecall.faces.mcp.http import McpApp
from pgrecall.settings import Settings
from tests.acceptance.cli.command_tools import Command
from tests.acceptance.http.http_tools import memories_locked, waiting
from tests.acceptance.mcp.mcp_tools import answer, connected, eventually, run, served_over_http
from tests.acceptance.mcp.test_mcp_stdio import HELLO
from tests.waiting import PATIENCE

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
KEYS = {"key-of-acme": "acme", "key-of-umbra": "umbra"}


def post(address: str, document: object, **headers: str) -> httpx.Response:
    sent = {**JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx.post(address, content=json.dumps(document), headers=sent, timeout=PATIENCE)


def test_what_is_no_request_of_a_client_here(database_url: str) -> None:
    with served_over_http(database_url) as address:
        assert post(address, INITIALIZE).status_code == 200
        assert post(address, INITIALIZE, host="rebound.example:80").status_code == 421
        assert post(address, INITIALIZE, origin="http://rebound.example").status_code == 403
        assert post(address, INITIALIZE, content_type="text/plain").status_code == 400
        assert post(address, INITIALIZE, mcp_session_id="of nobody").status_code == 404
        assert post(address, INITIALIZE, mcp_protocol_version="1999-01-01").status_code == 400
        assert post(address, {**INITIALIZE, "padding": "x" * 9_000_000}).status_code == 413
        assert post(address, [INITIALIZE]).status_code == 400
        assert httpx.post(address, content=b"{no", headers=JSON, timeout=PATIENCE).status_code == 400
        assert httpx.get(address, timeout=PATIENCE).status_code in (400, 406)
        assert httpx.get(address.removesuffix("/mcp"), timeout=PATIENCE).status_code == 404
        assert post(address, INITIALIZE).status_code == 200


def test_parallel_searches_on_a_small_pool(database_url: str) -> None:
    async def scenario(address: str) -> None:
        async with connected(address) as client:
            await answer(client, "remember", body="The gate code is 4711.")
            found = await asyncio.gather(*(answer(client, "search", query="gate code") for _ in range(50)))
            assert not any(result["no_match"] for result in found)

    # Patience for a connection is part of connecting; on a busy machine the last of them wait long.
    with served_over_http(database_url, pool_size="2", connect_timeout="300") as address:
        run(scenario(address))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_search_of_a_client_that_gives_up_is_cancelled_in_postgres(mode: str, database_url: str) -> None:
    async def scenario(address: str) -> None:
        async with connected(address, mode) as client:
            with memories_locked(database_url):
                search = asyncio.create_task(client.call_tool("search", {"query": "gate"}))
                await eventually(lambda: waiting(database_url) == 1, "the search waits")
                search.cancel()
                await eventually(lambda: waiting(database_url) == 0, "nobody waits")
            assert (await answer(client, "status"))["memories"] == 0

    with served_over_http(database_url) as address:
        run(scenario(address))


def test_what_it_was_doing_ends_with_it(database_url: str) -> None:
    called = {"name": "search", "arguments": {"query": "gate"}}
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": called}

    def search(address: str, session: str) -> None:
        with suppress(httpx.HTTPError):  # it goes away in the midst
            post(address, asked, mcp_session_id=session)

    with memories_locked(database_url):
        with served_over_http(database_url) as address:
            session = post(address, INITIALIZE).headers["mcp-session-id"]
            caller = threading.Thread(target=search, args=(address, session))
            caller.start()
            run(eventually(lambda: waiting(database_url) == 1, "the search waits"))
        run(eventually(lambda: waiting(database_url) == 0, "nobody waits"))
        caller.join()


def test_it_serves_this_machine_only(pgrecall: Command) -> None:
    refused = pgrecall("mcp", "--http", "--host", "0.0.0.0")
    assert (refused.code, refused.out) == (2, "")
    assert "Error: --host 0.0.0.0: without keys, MCP is served to this machine only" in refused.err


def test_a_port_that_is_taken(pgrecall: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = pgrecall("mcp", "--http", "--port", port)
    assert refused.code == 2
    assert f"Port {port} of 127.0.0.1 cannot be used" in refused.err
    assert "--port" in refused.err


@pytest.fixture
def service(settings: Settings) -> Iterator[str]:
    """An application of somebody else's, with a key for each tenant, and the server at /agents/mcp."""
    opened: list[AsyncMemory] = []

    async def memory_for(request: Request) -> AsyncMemory:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if key not in KEYS:
            raise HTTPException(401, "This key is unknown.")
        return opened[0].for_tenant(KEYS[key])

    server = McpApp(memory_for)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncMemory(settings=settings) as memory, server.running():
            opened.append(memory)
            yield

    app = Starlette(routes=[Route("/agents/mcp", endpoint=server)], lifespan=lifespan)
    running = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=3))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/agents/mcp"
        running.should_exit = True
        thread.join(timeout=PATIENCE)


@asynccontextmanager
async def with_key(address: str, key: str, mode: str) -> AsyncIterator[Client]:
    from httpx2 import AsyncClient

    async with (
        AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=PATIENCE) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tenants_see_their_own_memories(mode: str, service: str) -> None:
    async def scenario() -> None:
        async with (
            with_key(service, "key-of-acme", mode) as acme,
            with_key(service, "key-of-umbra", mode) as umbra,
        ):
            await answer(acme, "remember", body="The gate code is 4711.", key="gate")
            assert (await answer(umbra, "search", query="gate code"))["no_match"]
            await answer(umbra, "remember", body="The gate is a trap.", key="gate")
            assert (await answer(acme, "get", memory="gate"))["body"] == "The gate code is 4711."
            assert [(await answer(one, "status"))["tenant"] for one in (acme, umbra)] == ["acme", "umbra"]

    run(scenario())


def test_a_key_opens_no_session_of_another_tenant(service: str) -> None:
    acme, umbra = ({"authorization": f"Bearer key-of-{tenant}"} for tenant in ("acme", "umbra"))
    begun = post(service, INITIALIZE, **acme)
    session = {"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    listed = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    assert post(service, listed, **acme, **session).status_code == 200
    assert post(service, listed, **umbra, **session).status_code == 404
    for stranger in ({}, {"authorization": "Bearer of nothing"}):
        refused = post(service, listed, **stranger, **session)
        assert (refused.status_code, refused.text) == (401, "This key is unknown.")
        assert post(service, INITIALIZE, **stranger).status_code == 401
