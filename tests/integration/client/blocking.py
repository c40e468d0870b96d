"""Calls that wait in Postgres for as long as a test wants them to."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

import psycopg

from tests.databases import Query
from tests.integration.access.use_tools import as_tenant
from tests.waiting import BLOCKED, until


@contextlib.contextmanager
def memories_locked(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Nobody else can read a memory; what tries waits in Postgres."""
    with as_tenant(url, autocommit=False) as connection:
        connection.execute("LOCK TABLE recall.memory IN ACCESS EXCLUSIVE MODE")
        yield connection


def waiting(query: Query) -> int:
    """The server process of a call that waits, once there is one."""
    return int(until(lambda: query(BLOCKED), "a wait for a lock")[0]["pid"])


def terminate(query: Query, backend: int) -> None:
    """Ends a server process, as a restart or an administrator does, and waits until it is gone."""
    query("SELECT pg_terminate_backend(%s, 60000)", (backend,))


@contextlib.contextmanager
def silent(backend: int) -> Iterator[None]:
    """A server process that neither answers nor hangs up."""
    os.kill(backend, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(backend, signal.SIGCONT)
