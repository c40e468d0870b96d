"""`pgrecall serve` as a process, and what tests ask of it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlsplit

import httpx
import psycopg

from pgrecall import Memory
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.acceptance.cli.command_tools import DIMENSIONS, CommandLine, command_line, environment
from tests.waiting import PATIENCE, until

PLAIN: dict[str, Any] = {"timeout": PATIENCE, "trust_env": False, "verify": False}
"""Options of clients of services here, which have no TLS: reading its certificates takes 20 ms a client."""


@dataclass
class Served:
    """A service that runs as a process."""

    url: str
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx.Client(base_url=self.url, **PLAIN)

    def as_holder(self, key: str) -> httpx.Client:
        """A client that shows a key."""
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, headers=headers, **PLAIN)

    def raw(self) -> socket.socket:
        """A connection on which a test writes what no client would."""
        address = urlsplit(self.url)
        assert address.hostname
        assert address.port
        return socket.create_connection((address.hostname, address.port), timeout=PATIENCE)

    def logged_of(self, request: str) -> dict[str, Any]:
        """The line of the log for the request with this id."""
        [line] = self.logged_once("request_id", request)
        return line

    def logged_once(self, name: str, value: object) -> list[dict[str, Any]]:
        """The lines of the log that say this, once there are any: one is written after its answer."""

        def said() -> list[dict[str, Any]]:
            return [line for line in self.logged() if line.get(name) == value]

        return until(said, f"a line whose {name} is {value}", pause=0.05)

    def logged(self) -> list[dict[str, Any]]:
        """The lines of the log so far."""
        self.log.flush()
        whole, _, _ = os.pread(self.log.fileno(), 2**24, 0).rpartition(b"\n")  # the last may be half written
        return [json.loads(line) for line in whole.decode().splitlines() if line.startswith("{")]


@contextmanager
def serving(
    database_url: str, *arguments: str, command: CommandLine = command_line, **settings: str
) -> Iterator[Served]:
    """A service on a free port, as tenant ``acme``; killed at the end where it still runs."""
    given = {"database_url": database_url, "tenant": "acme", "http_timeout": "600", **settings}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command("serve", "--port", "0", "--json-log", *arguments),
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment(**given),
        )
        try:
            assert process.stdout is not None
            url = process.stdout.readline().decode().strip()
            assert url.startswith("http://"), os.pread(log.fileno(), 10_000, 0).decode()
            served = Served(url, process, log)
            with served.client:
                yield served
        finally:
            process.kill()
            process.communicate()


@contextmanager
def member(database_url: str, tenant: str = "acme") -> Iterator[Memory]:
    """A Python client of the same database."""
    settings = Settings(database_url=database_url, tenant=tenant, embedder="none")
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        yield memory


@contextmanager
def memories_locked(database_url: str) -> Iterator[None]:
    """Meanwhile every statement that reads a memory waits."""
    with psycopg.connect(database_url) as connection:
        connection.execute("LOCK TABLE recall.memory IN ACCESS EXCLUSIVE MODE")
        yield
        with suppress(psycopg.Error):
            connection.rollback()


def waiting(database_url: str) -> int:
    """How many statements wait for a lock in this database, but for those that count its figures."""
    sql = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' "
        "AND wait_event_type = 'Lock' AND query NOT LIKE '%recall.census%'"
    )
    with psycopg.connect(database_url, autocommit=True) as connection:
        row = connection.execute(sql).fetchone()
    assert row is not None
    return int(row[0])


def is_problem(answer: httpx.Response, status: int, name: str) -> bool:
    """Whether an answer is this problem, in the form that RFC 9457 asks for."""
    document = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert document["status"] == answer.status_code
    assert document["detail"].endswith(".")
    return (answer.status_code, document["type"]) == (status, f"urn:pgrecall:problem:{name}")
