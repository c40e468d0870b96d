"""A tenant that never finishes its requests holds so many bytes of the service; others are served."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import Memory
from pgrecall.faces.page.sessions import COOKIE
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.acceptance.http.http_tools import PLAIN, Served, serving
from tests.acceptance.page.page_tools import Page, sent
from tests.conftest import DIMENSIONS
from tests.waiting import until

pytestmark = pytest.mark.attack

LIMIT, LARGEST, PART = 4_000_000, 1_000_000, 900_000
REQUESTS = 20
MEDIA = {"/mcp": "application/json\r\nAccept: application/json, text/event-stream"}


@pytest.fixture
def secrets(database_url: str, own_logins: dict[str, str]) -> dict[str, str]:
    url = make_conninfo(database_url, user=own_logins["service"])
    with Memory(url, settings=Settings(embedder="none"), embedder=HashEmbedder(DIMENSIONS)) as memory:
        return {
            name: memory.for_tenant(name).keys.create("holder").secret
            for name in ("acme", "globex", "initech")
        }


@pytest.fixture
def service(database_url: str, own_logins: dict[str, str], secrets: dict[str, str]) -> Iterator[Served]:
    url = make_conninfo(database_url, user=own_logins["service"])
    bytes_of = {"http_body_bytes": str(LARGEST), "http_tenant_bytes": str(LIMIT)}
    with serving(url, allow_superuser="0", **bytes_of) as running:
        yield running


def opened(served: Served, path: str, headers: str, content: bytes) -> socket.socket:
    """A request that has sent its head and this part of its body."""
    connection = served.raw()
    connection.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n".encode() + content)
    return connection


def unfinished(served: Served, secret: str, path: str, content: bytes = b" " * PART) -> socket.socket:
    """A request with a key whose body lacks its end."""
    media = MEDIA.get(path, "application/json")
    headers = f"Authorization: Bearer {secret}\r\nContent-Length: {LARGEST}\r\nContent-Type: {media}"
    return opened(served, path, headers, content)


def unfinished_form(served: Served, path: str, size: int, cookie: str = "") -> socket.socket:
    """A form of the page whose body lacks its last byte."""
    media = "application/x-www-form-urlencoded"
    headers = f"Cookie: {cookie}\r\nContent-Length: {size}\r\nContent-Type: {media}"
    return opened(served, path, headers, b"k" * (size - 1))


def received(connection: socket.socket, text: bytes) -> bytes:
    """What comes until this text has come: an answer may come in pieces."""
    data = b""
    while text not in data:
        part = connection.recv(65536)
        assert part, data
        data += part
    return data


def signed_in(served: Served, secret: str) -> str:
    """The cookie of a session that this key opens through the page."""
    with httpx.Client(base_url=served.url, **PLAIN) as browser:
        answer = sent(browser, Page(browser.get("/sign-in")).form("/sign-in"), key=secret)
        assert answer.status_code == 303, answer.text
        return f"{COOKIE}={browser.cookies[COOKIE]}"


def figure(served: Served, secret: str, name: str) -> int:
    with served.as_holder(secret) as client:
        found = re.search(rf"^{name} (\S+)$", client.get("/metrics").text, re.M)
    assert found is not None
    return int(float(found[1]))


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/imports", "/mcp"])
def test_bytes_of_unfinished_bodies_are_bounded_by_tenant(
    path: str, service: Served, secrets: dict[str, str]
) -> None:
    held, fit = "pgrecall_http_body_bytes", LIMIT // PART
    with ExitStack() as open_ones:
        for _ in range(REQUESTS):
            open_ones.enter_context(unfinished(service, secrets["acme"], path))
        refused = "pgrecall_http_refused_for_bytes_total"
        until(lambda: figure(service, secrets["initech"], refused) >= REQUESTS - fit, "refusals", pause=0.05)
        assert figure(service, secrets["initech"], held) <= LIMIT
        with service.as_holder(secrets["globex"]) as globex:
            stored = globex.post("/v1/memories", json={"body": "The winch is red. " * 30_000})
            assert stored.status_code == 200, stored.text
            assert len(globex.post("/v1/search", json={"query": "winch"}).json()["hits"]) == 1
        with unfinished(service, secrets["acme"], path) as late:
            answer = received(late, b"\r\n\r\n").decode()
            assert answer.startswith("HTTP/1.1 429 ")
            assert re.search(r"^retry-after: 1\r$", answer, re.M | re.I)
            if "connection: close" not in answer.lower():  # the rest is dropped, and the next request served
                late.sendall(b" " * (LARGEST - PART) + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                received(late, b"HTTP/1.1 200 ")
    until(lambda: figure(service, secrets["initech"], held) == 0, "the end of what went away", pause=0.05)
    with service.as_holder(secrets["acme"]) as acme:
        assert acme.post("/v1/search", json={"query": "winch"}).status_code == 200


def test_a_body_that_takes_too_long_is_let_go(
    database_url: str, own_logins: dict[str, str], secrets: dict[str, str]
) -> None:
    url = make_conninfo(database_url, user=own_logins["service"])
    with serving(url, allow_superuser="0", http_timeout="1") as served, ExitStack() as open_ones:
        slow = [
            open_ones.enter_context(unfinished(served, secrets["acme"], path))
            for path in ("/v1/memories", "/mcp")
        ]
        for connection in slow:
            received(connection, b"HTTP/1.1 408 ")
        assert figure(served, secrets["globex"], "pgrecall_http_body_bytes") == 0


def test_unfinished_forms_of_a_tenant_are_bounded(service: Served, secrets: dict[str, str]) -> None:
    refused = "pgrecall_http_refused_for_bytes_total"
    cookie = signed_in(service, secrets["acme"])
    with ExitStack() as open_ones:
        for _ in range(REQUESTS):
            open_ones.enter_context(unfinished_form(service, "/add", PART, cookie))
        fit = LIMIT // PART
        until(lambda: figure(service, secrets["initech"], refused) >= REQUESTS - fit, "refusals", pause=0.05)
        signed_in(service, secrets["globex"])
        signed_in(service, secrets["acme"])


@pytest.mark.parametrize("size", [8000, 60_000])
def test_unfinished_sign_ins_keep_nobody_out(size: int, service: Served, secrets: dict[str, str]) -> None:
    with ExitStack() as open_ones:
        for _ in range(LIMIT // size + 5):
            open_ones.enter_context(unfinished_form(service, "/sign-in", size))
        signed_in(service, secrets["globex"])
        assert figure(service, secrets["initech"], "pgrecall_http_refused_for_bytes_total") == 0


@pytest.mark.parametrize("path", ["/v1/memories", "/mcp"])
def test_values_in_a_body_count_as_well(path: str, service: Served, secrets: dict[str, str]) -> None:
    lists = b"[" + b"[]," * 100_000  # 300 KB, of which 7 MB are made
    with unfinished(service, secrets["acme"], path, lists):
        held = "pgrecall_http_body_bytes"
        until(lambda: figure(service, secrets["initech"], held) > LIMIT, "the body", pause=0.05)
        with service.as_holder(secrets["acme"]) as acme, service.as_holder(secrets["globex"]) as globex:
            assert acme.post("/v1/search", json={"query": "winch"}).status_code == 429
            assert globex.post("/v1/search", json={"query": "winch"}).status_code == 200
