"""A database of its own for one measurement, dropped afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.settings import Settings


@contextmanager
def fresh_database(settings: Settings, dimensions: int) -> Iterator[str]:
    """The URL of a new, initialised database on the configured server, else on the embedded one."""
    configured = settings.database_url
    server = None if configured else EmbeddedServer.start(settings.data_dir)
    base = server.url if server else configured.get_secret_value() if configured else ""
    name = f"recall_benchmark_{uuid.uuid4().hex[:8]}"
    try:
        with psycopg.connect(base, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        url = make_conninfo(base, dbname=name)
        try:
            migrate.upgrade(url, dimensions=dimensions)
            yield url
        finally:
            with psycopg.connect(base, autocommit=True) as admin:
                _drop(admin, name)
    finally:
        if server:
            server.release()


def _drop(admin: psycopg.Connection[Any], name: str) -> None:
    """Postgres waits five seconds for its sessions to end, which may be too few on a busy machine."""
    statement = f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode()
    for _ in range(9):
        with suppress(psycopg.errors.ObjectInUse):
            admin.execute(statement)
            return
    admin.execute(statement)
