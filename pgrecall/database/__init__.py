"""How pgrecall speaks to Postgres: connections, a tenant for every transaction, errors made ours.

Every operation runs in its own transaction, in which ``recall.tenant`` is set first; psycopg's
errors leave this package only as :mod:`pgrecall.errors`.

server        what a server is and has, and whether it will do
translation   psycopg's errors as ours
connections   single connections, and how long one waits for an answer
transactions  what every transaction begins with and what may become of it
pool          connections for threads
async_pool    connections for tasks of an event loop
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.database.connections import Session, connect
from pgrecall.database.pool import Database
from pgrecall.database.server import (
    MINIMUM_PGVECTOR,
    MINIMUM_SERVER,
    Extension,
    Row,
    ServerFacts,
    require_suitable,
    server_facts,
)
from pgrecall.database.translation import translated
from pgrecall.later import found_later

if TYPE_CHECKING:
    from pgrecall.database.async_pool import AsyncDatabase

__all__ = [
    "MINIMUM_PGVECTOR",
    "MINIMUM_SERVER",
    "AsyncDatabase",
    "Database",
    "Extension",
    "Row",
    "ServerFacts",
    "Session",
    "connect",
    "require_suitable",
    "server_facts",
    "translated",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = found_later(__name__, {"async_pool": ("AsyncDatabase",)})
