"""Version and extensions of a Postgres server, and whether pgrecall can use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol

import psycopg

from pgrecall.errors import DatabaseUnsuitable

Row = Mapping[str, Any]


class Call(Protocol):
    """A call of the database, as :class:`pgrecall.nouns.operation.Operation` describes it."""

    @property
    def sql(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, object]: ...
    @property
    def durable(self) -> bool: ...
    @property
    def acting(self) -> bool: ...


MINIMUM_SERVER = 160_000
MINIMUM_PGVECTOR = (0, 8)


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension a server offers: the version it would install, the one it has, and whether this role
    may create it."""

    offered: str
    installed: str | None
    creatable: bool


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server's version as an integer (180006) and as text, and its extensions."""

    version: int
    version_text: str
    role: str
    database: str
    encoding: str
    runs_triggers: bool
    may_create: bool
    extensions: Mapping[str, Extension]
    """By name; of the two that pgrecall needs, those that the server offers."""


def server_facts(connection: psycopg.Connection[Row]) -> ServerFacts:
    """Reads the version and extensions of the server of an open connection."""
    query = (files("pgrecall") / "server_facts.sql").read_bytes()
    row = connection.execute(query).fetchone()
    assert row is not None
    found = {name: Extension(**versions) for name, versions in row["extensions"].items()}
    return ServerFacts(**(dict(row) | {"extensions": found}))


def require_suitable(facts: ServerFacts) -> None:
    """Rejects a server that is too old or lacks an extension.

    Raises:
        DatabaseUnsuitable: names everything that is missing.
    """
    missing: list[str] = []
    if facts.encoding != "UTF8":
        missing.append(
            f"database {facts.database} has the encoding {facts.encoding}, and memories need UTF8 "
            "(CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0)"
        )
    if not facts.runs_triggers:
        missing.append(
            "session_replication_role is replica, so that no trigger runs and no foreign key is checked "
            f"(ALTER DATABASE {facts.database} RESET session_replication_role, or the same for the role)"
        )
    if facts.version < MINIMUM_SERVER:
        missing.append(f"it is Postgres {facts.version_text}, and pgrecall needs 16 or newer")
    for name, package in (("vector", "pgvector 0.8 or newer"), ("pg_trgm", "the contrib package")):
        if name not in facts.extensions:
            missing.append(f"the extension {name} is not installed on the server ({package})")
    vector = facts.extensions.get("vector")
    if vector is not None and _numbers(vector.installed or vector.offered) < MINIMUM_PGVECTOR:
        version = vector.installed or vector.offered
        missing.append(f"pgvector is {version}, and pgrecall needs 0.8 or newer")
    if not facts.may_create:
        missing.append(f"role {facts.role} may not create in database {facts.database}")
    missing.extend(
        f"an administrator must run CREATE EXTENSION {name} in it"
        for name, extension in facts.extensions.items()
        if extension.installed is None and not (extension.creatable and facts.may_create)
    )
    if missing:
        raise DatabaseUnsuitable(
            "This Postgres cannot be used: " + "; ".join(missing) + ".",
            hint="Ask an administrator to fix this, then run `pgrecall init` again.",
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
