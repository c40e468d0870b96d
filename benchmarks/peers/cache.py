"""Databases of the compared stores: loaded once and kept, while a run works on copies."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier, Literal

import pgrecall
from benchmarks.peers import stores
from benchmarks.peers.process import Store
from benchmarks.peers.stores import EF_SEARCH

_LOADING = "peer_loading"
_SPENT = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
_OLDER = "SELECT datname FROM pg_database WHERE datname ~ %s"
_PREWARM = """
CREATE EXTENSION IF NOT EXISTS pg_prewarm;
SELECT sum(pg_prewarm(oid)) FROM pg_class WHERE relkind IN ('r', 'i', 't') AND relpersistence = 'p'
"""


def kept(url: str, store: Store, folder: Path) -> tuple[str, dict[str, Any]]:
    """The database with the contents of ``folder``, loaded if it does not exist, and the cost of loading.

    Raises:
        BrokenOff: the store cannot be loaded.
    """
    slug = re.sub(r"\W+", "_", store.name.lower())
    with store.started() as worker:
        versions = worker.ask("versions")
    name = f"peer_{slug}_{_digest(store, versions, folder)}"
    with psycopg.connect(url, autocommit=True) as admin:
        row = admin.execute(_SPENT, (name,)).fetchone()
        if row is None:
            spent = _loaded(url, admin, store, folder)
            for (older,) in admin.execute(_OLDER, (rf"^peer_{slug}_[0-9a-f]{{12}}$",)).fetchall():
                _drop(admin, older)
            _keep(admin, name, spent)
            return name, spent
    found: dict[str, Any] = json.loads(row[0])
    return name, found


def _keep(admin: psycopg.Connection[Any], name: str, spent: Mapping[str, Any]) -> None:
    """Stores the cost of loading as the comment of the database, so that neither exists without the other."""
    rename, say = SQL("ALTER DATABASE {} RENAME TO {}"), SQL("COMMENT ON DATABASE {} IS {}")
    with admin.transaction():
        admin.execute(rename.format(Identifier(_LOADING), Identifier(name)))
        admin.execute(say.format(Identifier(name), Literal(json.dumps(spent))))


def _digest(store: Store, versions: Mapping[str, Any], folder: Path) -> str:
    """A digest of everything that a loaded store depends on; for pgrecall also this checkout."""
    made_of = hashlib.sha256(json.dumps([store.name, versions]).encode())
    files = [*folder.iterdir(), Path(stores.__file__)]
    if store.name.startswith("pgrecall"):
        files += [path for path in Path(pgrecall.__file__).parent.rglob("*.*") if path.suffix != ".pyc"]
    for path in sorted(files):
        made_of.update(path.read_bytes())
    return made_of.hexdigest()[:12]


def _loaded(url: str, admin: psycopg.Connection[Any], store: Store, folder: Path) -> dict[str, Any]:
    """The cost of loading a new database, vacuumed and analyzed afterwards. Autovacuum is on."""
    _create(admin, _LOADING, "template0")
    _vacuums(admin, by_itself=True)
    try:
        with store.started() as worker:
            worker.ask("open", folder=str(folder), database=_reached(url, _LOADING))
            spent = worker.ask("load")
            worker.ask("close")
    finally:
        _vacuums(admin, by_itself=False)
    with psycopg.connect(make_conninfo(url, dbname=_LOADING), autocommit=True) as loaded:
        loaded.execute("VACUUM (ANALYZE)")
    return spent


@contextmanager
def copied(url: str, template: str) -> Iterator[dict[str, str]]:
    """The URL of a copy of a database, read into memory; dropped afterwards."""
    name = f"run_{template}"
    with psycopg.connect(url, autocommit=True) as admin:
        _create(admin, name, template)
        try:
            with psycopg.connect(make_conninfo(url, dbname=name), autocommit=True) as copy:
                copy.execute(_PREWARM)
            yield _reached(url, name)
        finally:
            _drop(admin, name)


def _create(admin: psycopg.Connection[Any], name: str, template: str) -> None:
    _drop(admin, name)
    admin.execute(
        SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
            Identifier(name), Identifier(template)
        )
    )
    setting = SQL("ALTER DATABASE {} SET hnsw.ef_search = {}")
    admin.execute(setting.format(Identifier(name), Literal(EF_SEARCH)))


def _drop(admin: psycopg.Connection[Any], name: str) -> None:
    admin.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))


def _vacuums(admin: psycopg.Connection[Any], *, by_itself: bool) -> None:
    admin.execute(f"ALTER SYSTEM SET autovacuum = {'on' if by_itself else 'off'}")
    admin.execute("SELECT pg_reload_conf()")


def _reached(url: str, name: str) -> dict[str, str]:
    reached = conninfo_to_dict(url)
    return {part: str(reached[part]) for part in ("host", "port", "user")} | {"dbname": name}
