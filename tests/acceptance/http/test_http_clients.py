"""The HTTP service and clients that are slow, gone, many, or there when it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import httpx
import psycopg
import pytest

from pgrecall import Draft
from pgrecall.faces.http.connections import MANY_WAITING
from pgrecall.faces.http.server import SHUTDOWN_TIMEOUT
from tests.acceptance.http.http_tools import (
    PLAIN,
    Served,
    is_problem,
    member,
    memories_locked,
    serving,
    waiting,
)
from tests.given_server import own_server_only
from tests.integration.client.blocking import silent
from tests.waiting import PATIENCE, until

SEARCH = b'{"query": "harbour contract"}'
HEAD = (
    b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def served(database_url: str) -> Iterator[Served]:
    with member(database_url) as memory:
        memory.remember("Mira signs the harbour contract on Friday.")
    with serving(database_url) as running:
        yield running


@pytest.fixture(scope="module")
def kept(shared_url: str) -> Iterator[Served]:
    """One service for the tests after which it goes on as before."""
    with member(shared_url) as memory:
        memory.remember("Mira signs the harbour contract on Friday.")
    with serving(shared_url, http_timeout="2") as running:
        yield running


def read_all(connection: socket.socket) -> bytes:
    """What comes until the other side ends the connection."""
    received = bytearray()
    try:
        while chunk := connection.recv(65536):
            received += chunk
    except ConnectionError:
        pass
    return bytes(received)


def test_the_search_of_a_disconnected_client_is_cancelled_in_postgres(kept: Served, shared_url: str) -> None:
    with memories_locked(shared_url):
        with kept.raw() as connection:
            connection.sendall(HEAD % len(SEARCH) + SEARCH)
            until(lambda: waiting(shared_url) == 1, "a wait")
        until(lambda: waiting(shared_url) == 0, "its end")
    assert [line["status"] for line in kept.logged_once("route", "/v1/search")] == [499]
    assert kept.client.post("/v1/search", content=SEARCH, headers=JSON).status_code == 200


def test_a_client_that_waits_for_its_turn_may_go_away(database_url: str) -> None:
    with (
        serving(database_url, pool_size="1", http_queue="2") as served,
        memories_locked(database_url),
    ):
        with served.raw() as working:
            working.sendall(b"GET /v1/memories/1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            until(lambda: waiting(database_url) == 1, "a wait")
            with served.raw() as queued:
                queued.sendall(HEAD % len(SEARCH) + SEARCH)
                until(lambda: figure(served, "pgrecall_http_waiting") == 1, "a turn waited for")
            until(lambda: figure(served, "pgrecall_http_waiting") == 0, "nobody waiting for a turn")
            assert waiting(database_url) == 1
        until(lambda: waiting(database_url) == 0, "its end")


def figure(served: Served, name: str) -> float:
    lines = [line for line in served.client.get("/metrics").text.splitlines() if line.startswith(f"{name} ")]
    return float(lines[0].split()[-1])


def test_a_slow_body_is_given_up(kept: Served) -> None:
    with kept.raw() as connection:
        connection.sendall(HEAD % 1000 + b'{"query": ')
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in answer


def test_a_slow_body_to_mcp_is_given_up(kept: Served) -> None:
    with kept.raw() as connection:
        connection.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n{"
        )
        assert read_all(connection).startswith(b"HTTP/1.1 408 ")


def test_headers_that_never_end_end_the_connection(kept: Served) -> None:
    with kept.raw() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        assert read_all(connection) == b""
    with kept.raw() as connection:  # and after a request that was in order
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he")
        assert read_all(connection).count(b"HTTP/1.1 200") == 1


def test_a_client_may_connect_long_before_it_sends(kept: Served) -> None:
    """One that opens hundreds of connections at once on a busy machine does; the time of two seconds for a
    request begins with its first byte."""
    with kept.raw() as connection:
        time.sleep(3)
        connection.sendall(HEAD % len(SEARCH) + SEARCH)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("path", ["/v1/search", "/mcp", "/login"])
def test_a_body_with_two_lengths_is_refused_and_ends_the_connection(kept: Served, path: str) -> None:
    # A proxy that goes by the other length would take what follows for the answer to somebody else's request.
    with kept.raw() as connection:
        connection.sendall(
            b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode()
        )
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_an_unread_answer_ends_the_connection(kept: Served, shared_url: str) -> None:
    size, pages = 900_000, 17  # together far more than sockets hold between them
    path = f"/v1/memories?tags=almanac&limit={pages}"
    with member(shared_url) as memory:
        tides = [{"tides": "x" * size, "page": page} for page in range(pages)]
        memory.remember_many(
            [Draft(f"Page {each['page']}", tags=("almanac",), metadata=each) for each in tides]
        )
    with kept.raw() as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: unread\r\n\r\n".encode())
        # It is logged once it is over, and it is over although nobody reads.
        kept.logged_once("request_id", "unread")
    assert kept.client.get("/healthz").status_code == 200
    with serving(shared_url) as patient:  # this machine may be too busy to read all of it in two seconds
        whole = patient.client.get(path)
    assert len(whole.content) > size * pages


@pytest.mark.parametrize("path", ["/v1/memories", "/mcp"])
def test_a_body_of_too_many_values_is_not_parsed(kept: Served, path: str) -> None:
    media = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = kept.client.post(path, content=b"[" + b"[]," * 200_000 + b"[]]", headers=media)
    assert (answer.status_code, "more than 200,000 JSON lists" in answer.text) == (413, True)
    assert kept.client.get("/healthz").status_code == 200


@pytest.mark.parametrize("path", ["/v1/search", "/mcp"])
def test_a_body_that_is_not_utf_8_is_not_parsed(kept: Served, path: str) -> None:
    """In UTF-16 a sign can have the byte of a quote, so that a list passes for a text."""
    media = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    many = '{"query": "\u2200", "hints": [' + "[]," * 200_000 + "[]]}"
    answer = kept.client.post(path, content=many.encode("utf-16-le"), headers=media)
    assert (answer.status_code, "not UTF-8" in answer.text) == (400, True)
    few = kept.client.post("/v1/search", content='{"query": "\u2200"}'.encode("utf-16-le"), headers=media)
    assert few.status_code == 400
    assert kept.client.get("/healthz").status_code == 200


def test_two_hundred_at_once_are_all_answered(database_url: str) -> None:
    with member(database_url) as memory:
        for number in range(50):
            memory.remember(f"Contract {number} of the harbour was signed.")
    with serving(database_url, pool_size="8", http_queue="60") as served:
        refused = asyncio.run(crowd(served, 200))
        assert sum(refused.values()) == 200
        assert set(refused) <= {200, 503}
        assert refused[200] >= 60
        until(lambda: unready(served) == [], "readiness")  # a busy database is not waited for long
        assert figure(served, "pgrecall_http_running") == 0
    with serving(database_url, pool_size="8", http_queue="400") as served:
        assert asyncio.run(crowd(served, 200)) == {200: 200}


async def crowd(served: Served, size: int) -> Counter[int]:
    """So many searches at once; how many ended with each status."""
    limits = httpx.Limits(max_connections=size)
    async with httpx.AsyncClient(base_url=served.url, limits=limits, **PLAIN) as client:
        answers = await asyncio.gather(
            *(client.post("/v1/search", content=SEARCH, headers=JSON) for _ in range(size))
        )
    for answer in answers:
        if answer.status_code == 503:
            assert is_problem(answer, 503, "service-unavailable")
            assert 1 <= int(answer.headers["retry-after"]) <= 30
        else:
            assert answer.json()["hits"]
    return Counter(answer.status_code for answer in answers)


def test_running_requests_finish_at_shutdown(served: Served, database_url: str) -> None:
    answers: list[httpx.Response] = []

    def ask() -> None:
        answers.append(served.client.post("/v1/search", content=SEARCH, headers=JSON))

    asking = threading.Thread(target=ask)
    with memories_locked(database_url):
        asking.start()
        until(lambda: waiting(database_url) == 1, "a wait")
        served.process.send_signal(signal.SIGTERM)
        until(lambda: refuses(served), "its refusal")
    asking.join()
    assert answers[0].status_code == 200
    assert answers[0].json()["hits"]
    assert served.process.wait(PATIENCE) == 0


def refuses(served: Served) -> bool:
    try:
        served.raw().close()
    except ConnectionRefusedError:
        return True
    return False


def unready(served: Served) -> list[str]:
    """Why requests should go elsewhere."""
    answer = served.client.get("/readyz")
    problems: list[str] = answer.json()["problems"]
    assert answer.json()["ready"] is not bool(problems)
    assert answer.status_code == (503 if problems else 200)
    return problems


def test_with_another_schema_it_is_alive_and_not_ready(served: Served, database_url: str) -> None:
    until(lambda: unready(served) == [], "readiness")
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "UPDATE recall.setting SET value = '\"another\"' WHERE name = 'schema.functions' AND tenant = '*'"
        )
        changed = "The database schema has changed since this service started."
        until(lambda: unready(served) == [changed], "notice of the change")
        connection.execute("DROP SCHEMA recall CASCADE")
    assert unready(served)
    assert is_problem(served.client.get("/v1/status"), 503, "schema-mismatch")
    assert served.client.get("/healthz").json() == {"alive": True}


def test_connections_without_a_key_keep_nobody_out(database_url: str) -> None:
    with member(database_url) as memory:
        memory.remember("Mira signs the harbour contract on Friday.")
        key = memory.keys.create("a client").secret
    with serving(database_url) as running, ExitStack() as stack, running.as_holder(key) as known:
        assert known.post("/v1/search", json={"query": "harbour"}).status_code == 200
        held = []
        for _ in range(MANY_WAITING + 100):
            connection = stack.enter_context(running.raw())
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            held.append(connection)

        def are_few() -> bool:
            with running.as_holder(key) as another:  # a new connection is let in
                assert another.post("/v1/search", json={"query": "harbour"}).status_code == 200
            return sum(is_open(each) for each in held) <= MANY_WAITING

        until(are_few, "the end of old ones", pause=0.2)
        # One that has had a request with a key goes on, and the others end soon.
        assert known.post("/v1/search", json={"query": "harbour"}).status_code == 200
        until(lambda: not any(is_open(each) for each in held), "the end of all", pause=0.2)


def is_open(connection: socket.socket) -> bool:
    """Whether the other side has not ended a connection; what it has sent is read."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def test_it_ends_within_its_bound_though_postgres_never_answers(served: Served, database_url: str) -> None:
    """Beside a request that waits for Postgres there are an idle connection and a half sent request."""
    with memories_locked(database_url), ExitStack() as opened, ThreadPoolExecutor(1) as pool:
        idle = opened.enter_context(httpx.Client(base_url=served.client.base_url, **PLAIN))
        assert idle.get("/healthz").status_code == 200
        half = opened.enter_context(served.raw())
        half.sendall(HEAD % 1000 + b'{"query"')
        asked = pool.submit(served.client.post, "/v1/search", content=SEARCH, headers=JSON)
        until(lambda: waiting(database_url) == 1, "a wait")
        began = time.monotonic()
        served.process.send_signal(signal.SIGTERM)
        code = served.process.wait(PATIENCE)
        took = time.monotonic() - began
        assert code == 0
        assert took < SHUTDOWN_TIMEOUT + 5
        with suppress(httpx.HTTPError):
            assert asked.result(PATIENCE).status_code >= 500
    until(lambda: waiting(database_url) == 0, "its end in Postgres")


def test_it_ends_though_a_process_of_postgres_hangs(served: Served, database_url: str) -> None:
    """Such a process does not confirm that a statement was cancelled."""
    own_server_only("stops a process of the server")
    with memories_locked(database_url), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(served.client.post, "/v1/search", content=SEARCH, headers=JSON)
        until(lambda: waiting(database_url) == 1, "a wait")
        with psycopg.connect(database_url, autocommit=True) as connection:
            row = connection.execute(
                "SELECT pid FROM pg_stat_activity "
                "WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchone()
        assert row is not None
        with silent(row[0]):
            began = time.monotonic()
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(PATIENCE) == 0
            took = time.monotonic() - began
        with suppress(httpx.HTTPError):
            asked.result(PATIENCE)
        assert took < SHUTDOWN_TIMEOUT + 5
