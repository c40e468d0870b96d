"""The installed schema, read without SQLAlchemy or Alembic, since every client reads it when it starts."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import psycopg

from pgrecall.database.connections import connect
from pgrecall.database.server import Row
from pgrecall.errors import SchemaMismatch

_FOLDER = Path(str(files(__package__)))

BASELINE = "0037"
"""The revision that a new schema begins with."""

NO_REVISION = (
    "Restore a backup of a version with a revision, or export with the version that made this one and import "
    "that into a new database; nothing was changed."
)
"""The way out of a schema that an unreleased development version left."""


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The installed revision, fingerprint of the functions, and dimensions; None if absent."""

    revision: str | None
    functions: str | None
    dimensions: int | None


def inspect(url: str, timeout: float = 10.0, within: float | None = None) -> SchemaState:
    """Reads the state of the schema in a database.

    Args:
        timeout: seconds for a connection.
        within: seconds to wait while an upgrade has the tables; None waits for its end.
    """
    with connect(url, timeout=timeout) as connection:
        if within is None:
            return state_of(connection.cursor())
        with connection.transaction():  # a pooler could hand a setting of the session to others
            limit = str(max(1, round(within * 1000)))
            connection.execute("SELECT set_config('lock_timeout', %s, true)", [limit])
            return state_of(connection.cursor())


def state_of(cursor: psycopg.Cursor[Row]) -> SchemaState:
    """``inspect`` over an open connection. Since revision 0005 a function returns it to every role."""
    there = cursor.execute(_THERE).fetchone()
    assert there is not None
    if not there["installed"]:
        return SchemaState(None, None, None)
    query = b"SELECT * FROM recall.installation()"
    if not there["tells"]:
        query = (_FOLDER / "installation.sql").read_bytes()
    row = cursor.execute(query).fetchone()
    assert row is not None
    return SchemaState(**row)


_THERE = (
    "SELECT count(*) FILTER (WHERE c.relname = 'setting') > 0 AS installed, "
    "EXISTS (SELECT FROM pg_proc p JOIN pg_namespace m ON m.oid = p.pronamespace "
    "WHERE m.nspname = 'recall' AND p.proname = 'installation') AS tells "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'recall'"
)


def require_current(state: SchemaState) -> None:
    """Rejects a schema that is not exactly this version's.

    Raises:
        SchemaMismatch: not initialised, older, or newer; says which and the way out.
    """
    if state.revision is None:
        raise SchemaMismatch("This database is not initialised.", hint="Run `pgrecall init`.")
    refuse_unknown(state)
    if not is_current(state):
        found = f"schema {state.revision}, which is not this version's"
        if state.revision == head_revision():
            found = "the functions of another version of pgrecall"
        raise SchemaMismatch(f"This database has {found}.", hint="Run `pgrecall upgrade`.")


def is_current(state: SchemaState) -> bool:
    """Whether a schema is exactly this version's."""
    return state.revision == head_revision() and state.functions == functions_fingerprint()


def refuse_unknown(state: SchemaState) -> None:
    """Rejects a revision that this version does not know.

    Raises:
        SchemaMismatch: it is newer, or never existed; the hint names the fix.
    """
    revision = state.revision
    if revision is None or revision in known_revisions():
        return
    if re.fullmatch(r"\d{4}", revision) and revision > head_revision():
        raise SchemaMismatch(
            f"This database has schema {revision}, which is newer than this pgrecall knows.",
            hint="Install the newer pgrecall; nothing was changed.",
        )
    raise SchemaMismatch(
        f"This database has schema {revision}, which was never a revision of pgrecall.", hint=NO_REVISION
    )


def head_revision() -> str:
    """The newest revision this package knows."""
    return known_revisions()[-1]


@cache
def known_revisions() -> list[str]:
    """Every revision, oldest first: their files begin with their names."""
    return sorted({path.name.partition("_")[0] for path in migrations().rglob("versions/[0-9]*_*.py")})


def migrations() -> Path:
    """The revisions; those up to the baseline are in ``earlier``."""
    return _FOLDER / "migrations"


@cache
def functions_fingerprint() -> str:
    """Returns a digest of all SQL files of the schema, to detect changed functions.

    Read once: the files belong to the code that this process has loaded.
    """
    digest = hashlib.sha256()
    for path in (roles_file(), text_search_file(), *function_files()):
        digest.update(f"{path.parent.name}/{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def function_files() -> list[Path]:
    """The function files in the order in which they are applied: by folder, then by name."""
    return sorted((_FOLDER / "functions").rglob("*.sql"))


def roles_file() -> Path:
    """The statements of the installing role before it acts as the owner."""
    return _FOLDER / "roles.sql"


def lock_file() -> Path:
    """The statement that takes every table of an older schema."""
    return _FOLDER / "lock_tables.sql"


def text_search_file() -> Path:
    """The text search configurations, applied before the revisions."""
    return _FOLDER / "text_search.sql"
