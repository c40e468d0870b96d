"""Databases of their own for tests, and statements in them as a tenant."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from tests.given_server import Server
from tests.waiting import until

Query = Callable[..., list[dict[str, Any]]]


def new_database(server: Server, template: str) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        cloned(admin, name, template)
        try:
            yield make_conninfo(server.url, dbname=name)
        finally:
            dropped(admin, name)


# Postgres 18 may let the kernel copy files, which takes little more than half the processor time.
BY_KERNEL = (
    "SELECT set_config(name, 'clone', false) FROM pg_settings "
    "WHERE name = 'file_copy_method' AND 'clone' = ANY (enumvals)"
)


def cloned(admin: psycopg.Connection[Any], name: str, template: str) -> None:
    """Creates a database as a copy of another that has no sessions."""
    admin.execute(BY_KERNEL)
    alone(admin, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")


def dropped(admin: psycopg.Connection[Any], name: str) -> None:
    """Drops a database with its sessions."""
    alone(admin, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def alone(admin: psycopg.Connection[Any], statement: str) -> None:
    """Runs a statement that needs a database without sessions; retries while sessions are still ending, which
    may take longer than the five seconds that Postgres waits."""

    def tried() -> bool:
        try:
            admin.execute(statement.encode())
        except psycopg.errors.ObjectInUse:
            return False
        return True

    until(tried, statement)


def runner(connection: psycopg.Connection[Any]) -> Query:
    def run(sql: str, parameters: Any = None, *, tenant: str = "acme") -> list[dict[str, Any]]:
        with connection.transaction():  # a savepoint where one has begun
            connection.execute("SELECT set_config('recall.tenant', %s, true)", (tenant,))
            cursor = connection.execute(sql, parameters)
            return cursor.fetchall() if cursor.description is not None else []

    return run
