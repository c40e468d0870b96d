"""A key that is revoked while requests are under way: what was let in may end, and nothing else begins."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from pgrecall import Memory
from pgrecall.faces.http.request_handling import CHECKED_AGAIN_AFTER
from tests.acceptance.http.http_tools import Served, memories_locked, serving, waiting
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
    with serving(database_url, http_concurrency=str(SLOTS), pool_size=str(SLOTS)) as running:
        yield running


def revoke(memory: Memory) -> None:
    [stolen] = [one for one in memory.keys.list() if one.name == "stolen"]
    memory.keys.revoke(stolen.id)


def called(method: str, number: int, **parameters: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


def test_no_request_begins_after_its_key_was_revoked(
    served: Served, memory: Memory, key: str, database_url: str, tried: Counter[str]
) -> None:
    client = served.as_holder(key)
    with client:
        opened = client.post("/mcp", json=called("initialize", 1, **HELLO), headers=MCP)
        session = MCP | {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        assert client.get("/v1/memories/plan").status_code == 200
        answers: list[httpx.Response] = []

        def remember(number: int) -> None:
            body = {"body": f"Stolen words {number}", "key": f"stolen-{number}"}
            answers.append(client.post("/v1/memories", json=body))

        with memories_locked(database_url):
            threads = [threading.Thread(target=remember, args=(number,)) for number in range(20)]
            for thread in threads:
                thread.start()
            until(lambda: waiting(database_url) >= AT_ONCE, "requests that wait for a lock")
            revoke(memory)
            time.sleep(1.5 * CHECKED_AGAIN_AFTER)
        for thread in threads:
            thread.join()
        # Those in a slot run to their end; the others have waited, so their key is looked up again.
        done = [answer for answer in answers if answer.status_code == 200]
        assert len(answers) == 20
        assert len(done) <= AT_ONCE
        assert {answer.status_code for answer in answers} <= {200, 401, 429, 503}
        assert memory.status().memories == 1 + len(done)
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
    tried["revoked keys"] += 20 + 3 + 3
    assert memory.get("plan").body == "The harbour opens at six."
