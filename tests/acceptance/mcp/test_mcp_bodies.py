"""Bodies that `pgrecall mcp --http` receives are checked as those of the service, before they are parsed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.http.http_tools import PLAIN
from tests.acceptance.mcp.mcp_tools import served_over_http

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "attacker", "version": "1"},
    },
}
LIMIT = 3_000_000

REFUSED: dict[str, tuple[bytes, int]] = {
    "UTF-16": (json.dumps(HELLO).encode("utf-16"), 400),
    "UTF-32": (json.dumps(HELLO).encode("utf-32-le"), 400),
    "no encoding": (json.dumps(HELLO).encode() + b"\xff", 400),
    "many lists": (json.dumps({**HELLO, "more": [[]] * 250_000}).encode(), 413),
    "many lists in UTF-16": (json.dumps({**HELLO, "more": [[]] * 250_000}).encode("utf-16"), 400),
    "too many bytes": (json.dumps({**HELLO, "more": "x" * LIMIT}).encode(), 413),
}


@pytest.fixture(scope="module")
def address(shared_url: str) -> Iterator[str]:
    with served_over_http(shared_url, http_body_bytes=str(LIMIT)) as address:
        yield address


@pytest.mark.parametrize("what", REFUSED)
def test_a_body_that_is_refused(what: str, address: str) -> None:
    body, status = REFUSED[what]
    assert httpx.post(address, content=body, headers=HEADERS, **PLAIN).status_code == status


def test_a_body_within_the_limits_is_read(address: str) -> None:
    """The mark of several encodings is in its texts, as a letter and not as bytes."""
    body = json.dumps({**HELLO, "more": "[{," * 300_000 + "\ufeff\0"}, ensure_ascii=False).encode()
    assert httpx.post(address, content=body, headers=HEADERS, **PLAIN).status_code == 200
