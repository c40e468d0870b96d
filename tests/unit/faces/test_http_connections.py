"""Which connection is displaced when there are too many."""

from __future__ import annotations

import asyncio
import itertools
import socket
from dataclasses import dataclass, field

import pytest
from starlette.responses import PlainTextResponse
from uvicorn import Config
from uvicorn.server import ServerState

from pgrecall.faces.http import connections as module
from pgrecall.faces.http.connections import Connections, connection_limit, network_of
from pgrecall.faces.http.server import TimeoutProtocol


@dataclass(eq=False)
class Client:
    """A connection that notes whether it was displaced."""

    network: str
    is_known: bool = False
    has_unread: bool = False
    displaced: bool = field(default=False, init=False)

    def displace(self) -> None:
        self.displaced = True


def opened(many: Connections, network: str, count: int) -> list[Client]:
    made = [Client(network) for _ in range(count)]
    for client in made:
        many.opened(client)
    return made


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Connections:
    """At most 3 of an address wait, and 6 together; 10 are open."""
    monkeypatch.setattr(module, "MAX_WAITING_OF_ADDRESS", 3)
    monkeypatch.setattr(module, "MANY_WAITING", 0)
    monkeypatch.setattr(module, "MAX_WAITING", 6)
    seconds = itertools.count(step=4)
    return Connections(limit=10, clock=lambda: next(seconds))


def test_an_address_displaces_its_own_oldest(few: Connections) -> None:
    [other] = opened(few, "other", 1)
    made = opened(few, "one", 5)
    assert [client.displaced for client in made] == [True, True, False, False, False]
    assert (other.displaced, few.displaced, len(few)) == (False, 2, 4)


def test_many_that_begin_at_once_displace_nobody(few: Connections) -> None:
    now = [0.0]
    many = Connections(limit=10, clock=lambda: now[0])
    made = opened(many, "one", 8)
    assert not any(client.displaced for client in made)
    now[0] = 3.0
    opened(many, "one", 1)
    assert [client.displaced for client in made] == [True] * 6 + [False] * 2


def test_a_crowd_of_one_address_is_let_alone_while_there_is_room(
    few: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine, its requests come after more than the three seconds."""
    monkeypatch.setattr(module, "MANY_WAITING", 5)
    made = opened(few, "one", 5)
    assert not any(client.displaced for client in made)
    opened(few, "other", 1)
    assert not any(client.displaced for client in made)
    opened(few, "one", 1)
    assert [client.displaced for client in made] == [True, True, False, False, False]


def test_one_whose_request_is_not_read_yet_is_not_displaced(few: Connections) -> None:
    late, unread = opened(few, "one", 2)
    unread.has_unread = late.has_unread = True
    made = opened(few, "one", 3)
    assert [client.displaced for client in (late, unread, *made)] == [False, False, True, True, False]
    late.has_unread = False
    opened(few, "one", 1)
    assert late.displaced


def test_among_many_addresses_the_one_with_most_loses(few: Connections) -> None:
    made = opened(few, "one", 3)
    others = [opened(few, f"other {number}", 1)[0] for number in range(5)]
    assert [client.displaced for client in made] == [True, True, False]
    assert not any(client.displaced for client in others)


def test_one_with_a_request_or_a_key_does_not_wait(few: Connections) -> None:
    busy, known = opened(few, "one", 2)
    few.works(busy)
    few.works(known)
    known.is_known = True
    few.waits(known)
    made = opened(few, "one", 4)
    assert [client.displaced for client in (busy, known, *made)] == [False, False, True, False, False, False]
    few.waits(busy)
    assert made[1].displaced


def test_what_is_needed_least_goes_when_all_files_are_taken(few: Connections) -> None:
    known = []
    for number in range(8):
        [client] = opened(few, f"known {number}", 1)
        client.is_known = True
        few.works(client)
        known.append(client)
    few.waits(known[0])
    [half] = opened(few, "half", 1)
    few.works(half)
    [first] = opened(few, "first", 1)
    [second] = opened(few, "second", 1)
    assert (first.displaced, half.displaced) == (True, False)
    few.works(second)
    [third] = opened(few, "third", 1)
    assert third.displaced  # the only one that waits
    second.is_known = True
    for client in (half, second):
        assert not client.displaced
    assert len(few) == 10


def test_an_idle_one_goes_before_one_that_works(few: Connections) -> None:
    made = []
    for number in range(10):
        [client] = opened(few, f"known {number}", 1)
        client.is_known = True
        few.works(client)
        made.append(client)
    few.waits(made[4])
    late = Client("late", is_known=True)
    few.opened(late)
    assert [client for client in made if client.displaced] == [made[4]]
    few.works(late)
    last = Client("last", is_known=True)
    few.opened(last)
    assert last.displaced
    assert len(few) == 10


def test_closing_twice_does_no_harm(few: Connections) -> None:
    [client] = opened(few, "one", 1)
    few.closed(client)
    few.closed(client)
    few.waits(client)
    assert len(few) == 0


@pytest.mark.parametrize(
    ("peer", "network"),
    [
        (("203.0.113.7", 80), "203.0.113.7"),
        (("::ffff:203.0.113.7", 80, 0, 0), "203.0.113.7"),
        (("2001:db8:1:2:3::1", 80, 0, 0), "20010db800010002"),
        (("fe80::1%eth0", 80, 0, 0), "fe80000000000000"),
        ("/run/socket", ""),
        (None, ""),
    ],
)
def test_addresses_of_one_network_count_together(peer: object, network: str) -> None:
    assert network_of(peer) == network


@pytest.mark.parametrize(
    ("soft", "hard", "limit", "wanted"),
    [
        (1024, 20_000, 10_000, 10_200),
        (1024, 4096, 3896, 4096),
        (65_536, 65_536, 10_000, None),
        (150, 150, 75, None),
    ],
)
def test_the_limit_follows_the_files_that_may_be_open(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, limit: int, wanted: int | None
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(module.resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(module.resource, "setrlimit", lambda _, both: asked.append(both[0]))
    assert connection_limit() == limit
    assert asked == ([] if wanted is None else [wanted])


def test_an_idle_connection_is_not_closed_when_its_next_request_is_there() -> None:
    """A busy process reads it late: the client would meet the end of its connection instead of an answer."""

    async def ask() -> bytes:
        made: list[TimeoutProtocol] = []

        def protocol() -> TimeoutProtocol:
            config = Config(PlainTextResponse("here"), log_config=None)
            made.append(TimeoutProtocol(config, ServerState(), {}))
            return made[-1]

        server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
        with socket.create_connection(server.sockets[0].getsockname()) as client:
            client.setblocking(False)
            while not made or made[0].transport is None:
                await asyncio.sleep(0)
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            made[0].timeout_keep_alive_handler()
            answer = await asyncio.get_running_loop().sock_recv(client, 1000)
        server.close()
        return answer

    assert asyncio.run(ask()).startswith(b"HTTP/1.1 200 OK")
