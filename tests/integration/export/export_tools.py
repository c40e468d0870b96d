"""Clients of tenants that are exported and imported, and the lines of an export."""

from __future__ import annotations

import io
from typing import Any

import psycopg

from pgrecall import Memory
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS, NOW


def client(url: str, tenant: str) -> Memory:
    settings = Settings(database_url=url, tenant=tenant, embedder="hash")
    return Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS))


def lines_of(memory: Memory, **options: Any) -> list[str]:
    """The lines of an export of this tenant."""
    file = io.BytesIO()
    memory.export.write(file, now=NOW, **options)
    return file.getvalue().decode().split("\n")[:-1]


def read_in_sql(connection: psycopg.Connection[Any], lines: list[str]) -> None:
    """Imports the lines of an export by the functions that Python calls."""
    connection.execute("SELECT recall.begin_import(%s)", (lines[0],))
    connection.execute("SELECT recall.import_lines(%s)", (lines[1:],))
    connection.execute("SELECT recall.end_import()")
