"""What a service is in the middle of when it is told to stop: requests, streams, imports, half requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg

from tests.acceptance.http.http_tools import Served, memories_locked, serving, waiting
from tests.waiting import PATIENCE, until

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@dataclass
class Scene:
    """A service to stop, its database, and what its callers had of it."""

    served: Served
    url: str
    stack: ExitStack
    answers: list[httpx.Response | None] = field(default_factory=list)
    asked: int = 0

    def ask(self, method: str, path: str, **given: Any) -> None:
        """Asks in a thread; the answer, or None if the connection ended without one, is in ``answers``."""
        self.asked += 1

        def wait() -> None:
            with httpx.Client(base_url=self.served.url, timeout=PATIENCE, trust_env=False) as client:
                try:
                    self.answers.append(client.request(method, path, **given))
                except httpx.HTTPError:
                    self.answers.append(None)

        threading.Thread(target=wait, daemon=True).start()

    def remember(self) -> None:
        self.ask("POST", "/v1/memories", json={"body": "The gate code is 4711.", "key": "gate"})

    def stored(self) -> int:
        with psycopg.connect(self.url) as connection:
            row = connection.execute("SELECT count(*) FROM recall.memory WHERE key = 'gate'").fetchone()
        assert row is not None
        return int(row[0])

    def locked(self) -> None:
        """From now on every statement that reads memories waits, also after the service has ended."""
        self.stack.enter_context(memories_locked(self.url))


def nothing(_: Scene) -> None:
    pass


def search_waits(scene: Scene) -> None:
    scene.locked()
    scene.ask("POST", "/v1/search", json={"query": "gate"})
    until(lambda: waiting(scene.url) == 1, "a wait")


def write_waits(scene: Scene) -> None:
    scene.locked()
    scene.remember()
    until(lambda: waiting(scene.url) == 1, "a wait")


def import_waits(scene: Scene) -> None:
    scene.locked()
    lines = "\n".join(json.dumps({"body": f"Buoy {n} is red."}) for n in range(300))
    scene.ask("POST", "/v1/imports?name=buoys.jsonl", content=lines.encode())
    until(lambda: waiting(scene.url) >= 1, "a wait")


def half_requests(scene: Scene) -> None:
    for beginning in (
        b"POST /v1/se",
        b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b'Content-Length: 900\r\n\r\n{"body": "The gate',
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nContent-Length: 900\r\n\r\n{",
        b"POST /v1/imports?name=a.md HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5\r\n# Ga",
    ):
        scene.stack.enter_context(scene.served.raw()).sendall(beginning)


def session_of(scene: Scene) -> dict[str, str]:
    """Headers of a session of MCP."""
    answer = scene.served.client.post("/mcp", json=INITIALIZE, headers=ACCEPT)
    assert answer.status_code == 200
    return ACCEPT | {"mcp-session-id": answer.headers["mcp-session-id"]}


def streams(scene: Scene) -> None:
    headers = session_of(scene)
    opened = scene.stack.enter_context(scene.served.client.stream("GET", "/mcp", headers=headers))
    assert opened.status_code == 200


def tool_waits(scene: Scene) -> None:
    headers = session_of(scene)
    scene.locked()
    call = {"name": "remember", "arguments": {"body": "The gate code is 4711.", "key": "gate"}}
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
    scene.ask("POST", "/mcp", json=asked, headers=headers)
    until(lambda: waiting(scene.url) == 1, "a wait")


def pages_wait(scene: Scene) -> None:
    scene.locked()
    scene.ask("GET", "/?q=gate")
    scene.ask("GET", "/memories")
    until(lambda: waiting(scene.url) == 2, "two waits")


Trouble = Callable[[Scene], None]
TROUBLES: dict[str, Trouble] = {
    "nothing": nothing,
    "a search waits": search_waits,
    "a write waits": write_waits,
    "an import waits": import_waits,
    "half sent requests": half_requests,
    "an open stream": streams,
    "a tool waits": tool_waits,
    "pages wait": pages_wait,
}


@contextmanager
def scene_of(url: str, **settings: str) -> Iterator[Scene]:
    with serving(url, **settings) as served, ExitStack() as stack:
        assert served.client.get("/healthz").status_code == 200  # from now on it serves
        yield Scene(served, url, stack)
