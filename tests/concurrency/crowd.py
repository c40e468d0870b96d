"""Many at once: functions run in threads or processes of their own, all begun together."""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import psycopg
from psycopg.rows import dict_row

from tests.waiting import PATIENCE

T = TypeVar("T")
MOMENT = datetime(2026, 6, 1, 12, tzinfo=UTC)
Connection = psycopg.Connection[dict[str, Any]]


@contextmanager
def connected(url: str, tenant: str = "acme") -> Iterator[Connection]:
    """A connection of its own for a tenant, each statement a transaction."""
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))
        connection.execute("SET deadlock_timeout = '200ms'")
        yield connection


def together(url: str, parts: Sequence[Callable[[Connection], T]], tenant: str = "acme") -> list[T]:
    """What each part returns, run at the same time over a connection of its own."""
    barrier = threading.Barrier(len(parts))

    def run(part: Callable[[Connection], T]) -> T:
        with connected(url, tenant) as connection:
            barrier.wait(timeout=PATIENCE)
            return part(connection)

    with ThreadPoolExecutor(len(parts)) as threads:
        return list(threads.map(run, parts))


def in_processes(function: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> list[T]:
    """What a function of a module returns in a process of its own for each of these arguments."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(arguments), mp_context=context) as processes:
        return list(processes.map(function, *zip(*arguments, strict=True)))


def deadlocks(connection: Connection) -> int:
    """How many deadlocks this database has seen, up to now."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    [row] = connection.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ).fetchall()
    return int(row["deadlocks"])


def call(connection: Connection, function: str, *parameters: Any) -> Any:
    """What a function of schema recall returns."""
    [row] = connection.execute(f"SELECT recall.{function} AS value", parameters).fetchall()
    return row["value"]


def in_background(connection: Connection, function: str, *parameters: Any) -> Callable[[], Any]:
    """Begins such a call; what is returned waits for its result."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(call, connection, function, *parameters)
    pool.shutdown(wait=False)
    return lambda: future.result(timeout=PATIENCE)


def create_the_same(url: str, worker: int, rounds: int) -> list[int]:
    """What a process is told: the ids of keys that all others create as well."""
    with connected(url) as connection:
        text = "remember(%s, p_key => %s, p_links => %s::jsonb, p_now => %s)"
        links = [json.dumps([{"target": f"same{(n + 1) % rounds}"}]) for n in range(rounds)]
        return [call(connection, text, f"by {worker}", f"same{n}", links[n], MOMENT) for n in range(rounds)]
