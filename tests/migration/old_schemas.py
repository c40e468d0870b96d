"""Databases as earlier revisions left them: their tables, filled, without functions."""

from __future__ import annotations

from pathlib import Path

import psycopg

from pgrecall.database.connections import connect
from pgrecall.database.server import server_facts
from pgrecall.schema import migrate

FILLS = Path(__file__).with_name("fills")
REVISIONS = tuple(sorted(fill.stem for fill in FILLS.glob("0*.sql")))


def take_to(url: str, revision: str, dimensions: int = 64) -> None:
    """Makes the tables those of a revision, from nothing or from an earlier one."""
    with connect(url) as connection:
        facts = server_facts(connection)
    with migrate._locked(url) as connection:
        migrate._prepare(connection, facts)
        migrate.run_revisions(connection, dimensions, migrate._state(connection).revision, revision)


def fill(url: str, revision: str) -> None:
    """Puts something of everything in that the tables of a revision can hold."""
    parts = ["0001"] if revision == "0001" else [part for part in REVISIONS[1:] if part <= revision]
    if revision < "0006":
        parts.insert(0, "vectors_in_memory")
    add(url, "memories", *parts)


def add(url: str, *parts: str) -> None:
    """Runs these files of ``fills``; the one of a revision adds what came with it."""
    with psycopg.connect(url) as connection:
        for part in parts:
            connection.execute((FILLS / f"{part}.sql").read_bytes())
