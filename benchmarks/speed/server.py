"""The benchmark's own server, with worlds that are kept and copies that are dropped."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

import benchmarks
from benchmarks.speed.world import Tenant, build, move_tenant
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.schema import migrate
from pgrecall.search.embed.embedder import Embedder

_GIGABYTE = 1 << 30
_SOURCES = ("speed/world.py", "speed/bulk_copy.py", "speed/sentences.py", "maintenance/data.py")
"""The source code that creates a world; after a change the world is created again."""


def _settings() -> dict[str, str]:
    """The recommended settings for a machine of this size; autovacuum would disturb single measurements."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "shared_buffers": f"{min(8 * _GIGABYTE, memory // 4) >> 20}MB",
        "maintenance_work_mem": f"{min(4 * _GIGABYTE, memory // 8) >> 20}MB",
        "work_mem": "64MB",
        "max_wal_size": "8GB",
        "checkpoint_timeout": "30min",
        "autovacuum": "off",
    }


@contextmanager
def bench_server(folder: Path) -> Iterator[EmbeddedServer]:
    """The embedded server of this folder, configured for this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    with EmbeddedServer.start(folder) as server, psycopg.connect(server.url, autocommit=True) as admin:
        for name, value in _settings().items():
            admin.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    with EmbeddedServer.start(folder) as server:
        yield server


def world(server: EmbeddedServer, memories: int, embedder: Embedder, cache: Path) -> str:
    """The name of the database with the world of this size, created if it does not exist."""
    kept = f"world_{memories}_{_digest(embedder)}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        if not admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", (kept,)).fetchone():
            _make(server, admin, kept, memories, embedder, cache)
    return kept


def _digest(embedder: Embedder) -> str:
    folder = Path(benchmarks.__file__).parent
    made_by = hashlib.sha256(embedder.name.encode())
    for source in _SOURCES:
        made_by.update((folder / source).read_bytes())
    return made_by.hexdigest()[:10]


def _make(
    server: EmbeddedServer,
    admin: psycopg.Connection,
    kept: str,
    memories: int,
    embedder: Embedder,
    cache: Path,
) -> None:
    admin.execute("DROP DATABASE IF EXISTS world_new")
    admin.execute("CREATE DATABASE world_new TEMPLATE template0")
    url = make_conninfo(server.url, dbname="world_new")
    migrate.upgrade(url, dimensions=embedder.dimensions)
    build(url, memories, embedder, cache)
    admin.execute(f"ALTER DATABASE world_new RENAME TO {kept}")


@contextmanager
def copy_of(server: EmbeddedServer, template: str) -> Iterator[str]:
    """The URL of a copy of a database, upgraded to the functions of this checkout and dropped afterwards."""
    name = f"run_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        try:
            url = make_conninfo(server.url, dbname=name)
            migrate.upgrade(url)
            yield url
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def new_database(server: EmbeddedServer, dimensions: int) -> Iterator[str]:
    """The URL of a new, initialised database, dropped afterwards."""
    name = f"new_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            url = make_conninfo(server.url, dbname=name)
            migrate.upgrade(url, dimensions=dimensions)
            yield url
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def alone(server: EmbeddedServer, url: str, tenant: Tenant, dimensions: int) -> Iterator[str]:
    """The URL of a database with only this tenant of another."""
    with new_database(server, dimensions) as target:
        move_tenant(url, target, tenant)
        yield target
