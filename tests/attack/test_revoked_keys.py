"""A key that is revoked while requests are under way: what was let in may end, and nothing else begins."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import httpx
import pytest

from pgrecall import Memory
from pgrecall.faces.http.authentication import CHECKED_AGAIN_AFTER
from tests.acceptance.http.http_tools import PLAIN, Served, memories_locked, waiting
from tests.acceptance.mcp.oauth_tools import access_token, serving_oauth
from tests.acceptance.page.page_tools import Page, sent
from tests.attack.test_fair_share import HELLO, MCP
from tests.waiting import until

pytestmark = pytest.mark.attack

SLOTS = 4
AT_ONCE = SLOTS // 2
"""Requests of one tenant, which has its share of the slots."""


@pytest.fixture
def key(memory: Memory) -> str:
    memory.remember("The harbour opens at six.", key="plan")
    memory.keys.create("the operator's")  # so that the service goes on asking for keys
    return memory.keys.create("stolen").secret


@pytest.fixture
def served(database_url: str, key: str) -> Iterator[Served]:
    with serving_oauth(database_url, http_concurrency=str(SLOTS), pool_size=str(SLOTS)) as running:
        yield running


def revoke(memory: Memory) -> None:
    [stolen] = [one for one in memory.keys.list() if one.name == "stolen"]
    memory.keys.revoke(stolen.id)


def called(method: str, number: int, **parameters: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


Send = Callable[[int], httpx.Response]


def over_http(client: httpx.Client, key: str) -> Send:
    """Sends a memory to the API, which answers 401 if the key is revoked."""

    def remember(number: int) -> httpx.Response:
        body = {"body": f"Stolen words {number}", "key": f"stolen-{number}"}
        return client.post("/v1/memories", json=body)

    client.headers["Authorization"] = f"Bearer {key}"
    return remember


def over_mcp(client: httpx.Client, key: str) -> Send:
    """The same as a call of a tool, in a session that was opened before."""
    client.headers["Authorization"] = f"Bearer {key}"
    opened = client.post("/mcp", json=called("initialize", 1, **HELLO), headers=MCP)
    session = MCP | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}

    def remember(number: int) -> httpx.Response:
        arguments = {"body": f"Stolen words {number}", "key": f"stolen-{number}"}
        call = called("tools/call", number, name="remember", arguments=arguments)
        return client.post("/mcp", json=call, headers=session)

    return remember


def over_oauth(client: httpx.Client, token: str) -> Send:
    """The same with a token of OAuth that was got with the key."""
    return over_mcp(client, token)


def over_mcp_resources(client: httpx.Client, key: str) -> Send:
    """Reads a memory as a resource, in a session that was opened before."""
    client.headers["Authorization"] = f"Bearer {key}"
    opened = client.post("/mcp", json=called("initialize", 1, **HELLO), headers=MCP)
    session = MCP | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    return lambda number: client.post(
        "/mcp", json=called("resources/read", number, uri="pgrecall://memory/plan"), headers=session
    )


def over_the_page(client: httpx.Client, key: str) -> Send:
    """Sends a form that was opened before."""
    sent(client, Page(client.get("/add")).form("/sign-in"), key=key)
    form = Page(client.get("/add")).form("/add")
    return lambda number: sent(client, form, body=f"Stolen words {number}", key=f"stolen-{number}")


@pytest.mark.parametrize("way", [over_http, over_mcp, over_oauth, over_mcp_resources, over_the_page])
def test_nothing_begins_after_the_key_was_revoked(
    served: Served,
    memory: Memory,
    key: str,
    database_url: str,
    tried: Counter[str],
    way: Callable[[httpx.Client, str], Send],
) -> None:
    with httpx.Client(base_url=served.url, **PLAIN) as client:
        send = way(client, access_token(served, key) if way is over_oauth else key)
        answers: list[httpx.Response] = []
        with memories_locked(database_url):
            threads = [
                threading.Thread(target=lambda number=number: answers.append(send(number)))  # type: ignore[misc]
                for number in range(2, 22)
            ]
            for thread in threads:
                thread.start()
            until(lambda: waiting(database_url) >= AT_ONCE, "requests that wait for a lock")
            revoke(memory)
            time.sleep(1.5 * CHECKED_AGAIN_AFTER)
        for thread in threads:
            thread.join()
        # Those in a slot run to their end; the others have waited, so their key is looked up again.
        done = [answer for answer in answers if answer.status_code in (200, 303) and not is_refused(answer)]
        assert len(answers) == 20
        assert len(done) <= AT_ONCE, [answer.text[:200] for answer in done]
        assert {answer.status_code for answer in answers} <= {200, 303, 401, 429, 503}
        assert memory.status().memories == 1 + (len(done) if way is not over_mcp_resources else 0)
        later = send(99)  # a form or a session that was opened before
        assert later.status_code == 401
    tried["revoked keys"] += 21


def is_refused(answer: httpx.Response) -> bool:
    """Whether an answer of MCP is the error of its call."""
    return "unknown or revoked" in answer.text


def test_a_revoked_key_opens_nothing_that_it_had_opened(
    served: Served, memory: Memory, key: str, tried: Counter[str]
) -> None:
    with served.as_holder(key) as client:
        opened = client.post("/mcp", json=called("initialize", 1, **HELLO), headers=MCP)
        session = MCP | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        assert client.get("/v1/memories/plan").status_code == 200
        revoke(memory)
        for method, path in (
            ("GET", "/v1/memories/plan"),
            ("POST", "/v1/search"),
            ("DELETE", "/v1/memories/plan"),
        ):
            assert client.request(method, path, json={"query": "harbour"}).status_code in (400, 401)
        for number, (method, parameters) in enumerate(
            (("tools/list", {}), ("tools/call", {"name": "get", "arguments": {"memory": "plan"}})), 2
        ):
            answer = client.post("/mcp", json=called(method, number, **parameters), headers=session)
            assert answer.status_code == 401
        assert client.delete("/mcp", headers=session).status_code == 401
    tried["revoked keys"] += 6
    assert memory.get("plan").body == "The harbour opens at six."
