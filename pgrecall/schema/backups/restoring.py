"""A backup becomes the memories of a database: all of it, or nothing of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

import psycopg

from pgrecall.database.connections import connect
from pgrecall.database.server import Row, require_suitable, server_facts
from pgrecall.errors import DatabaseError, DatabaseUnavailable, InvalidInput, SchemaMismatch
from pgrecall.schema.aside import ASIDE, brought_back, refuse_remains
from pgrecall.schema.backups.making import EXTENSIONS
from pgrecall.schema.backups.programs import find_program, output_of
from pgrecall.schema.backups.script import run_script
from pgrecall.schema.migrate import Upgrade, upgrade
from pgrecall.schema.state import NO_REVISION, head_revision, known_revisions

_SIGN = b"PGDMP"
"""What every file of pg_dump in its custom format begins with."""

_OURS = re.compile(
    rf"; \d+ \d+ ((COMMENT - )?SCHEMA (- )?|(?!PUBLICATION)[A-Z ]+ )({'|'.join(ASIDE)}) "
    rf"|; \d+ \d+ EXTENSION - ({'|'.join(EXTENSIONS)}) "
)
"""An entry of a dump that belongs to pgrecall."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored: the revision in the backup, and the upgrade to this version that followed."""

    revision: str
    upgraded: Upgrade


def restore_backup(
    url: str,
    source: Path,
    *,
    replace: bool = False,
    timeout: float = 10.0,
    progress: Callable[[str], None] = lambda _: None,
    name: str | None = None,
) -> Restored:
    """Restores a backup into a database without memories, and upgrades them to this version.

    Roles that log in are not part of a backup, their bindings to tenants are.

    Args:
        source: a file of :func:`make_backup`, or of ``pg_dump --format=custom``; other schemas in it are left
            out.
        replace: whether the database may hold memories; they are dropped once the restored ones are complete.
        timeout: seconds to connect.
        progress: called with the name of each step before it begins.
        name: what errors call the file; None: its path.

    Raises:
        InvalidInput: the file is no backup of memories, the database holds some, or no pg_restore fits.
        SchemaMismatch: the backup is of a newer version.
        DatabaseUnsuitable: the server lacks something; it is named.
        DatabaseError: the file is damaged, or Postgres failed; nothing was changed.
    """
    name = name or str(source)
    _require_dump(source, name)
    with connect(url, timeout=timeout) as connection:
        facts = server_facts(connection)
        program = find_program("pg_restore", facts.version)
        progress("reading")
        entries = _entries(program, source, name)
        revision = _revision(program, source, name)
        require_suitable(facts)
        _require_free(connection, replace=replace)
    with _swapped(url, timeout):
        progress("restoring")
        with _named(name), connect(url, timeout=timeout) as connection, connection.transaction():
            run_script(connection, program, source, entries)
        progress("upgrading")
        upgraded = upgrade(url, timeout=timeout)
    with connect(url, timeout=timeout) as connection:
        progress("analysing")
        connection.execute("ANALYZE")
    return Restored(revision, upgraded)


@contextmanager
def spooled(stream: BinaryIO) -> Iterator[Path]:
    """A backup from a stream as a private file, which is gone at the end: pg_restore reads it several times.

    Raises:
        InvalidInput: the stream is no backup, or there is no room for it.
    """
    with NamedTemporaryFile(prefix="pgrecall-") as file:
        begins = stream.read(len(_SIGN))
        if begins != _SIGN:  # before gigabytes of something else are copied
            raise _not_a_backup("Standard input")
        try:
            file.write(begins)
            shutil.copyfileobj(stream, file)
            file.flush()
        except OSError as error:
            raise InvalidInput(
                f"The backup cannot be kept in {Path(file.name).parent} to be read: {error.strerror}.",
                hint="Make room, or name another folder in TMPDIR.",
            ) from error
        yield Path(file.name)


def _not_a_backup(name: str) -> InvalidInput:
    return InvalidInput(
        f"{name} is not a backup.",
        hint="Give a file of `pgrecall backup create`; `pgrecall import` reads exports.",
    )


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Says of an error that the file causes which file it is."""
    try:
        yield
    except (InvalidInput, DatabaseError) as error:
        if isinstance(error, DatabaseUnavailable):
            raise
        if isinstance(error, SchemaMismatch):  # a trigger or an index calls a function of another schema
            raise InvalidInput(
                f"{name} needs something outside of pgrecall: {str(error.__cause__).splitlines()[0]}.",
                hint="Nothing was changed. Create it in this database, and restore again.",
            ) from error
        raise DatabaseError(
            f"{name} cannot be restored: {error.message}",
            hint=f"Nothing was changed. The file may be damaged: try an older backup. {error.hint}".rstrip(),
        ) from error


def _require_dump(source: Path, name: str) -> None:
    try:
        with source.open("rb") as file:
            begins = file.read(len(_SIGN))
    except OSError as error:
        raise InvalidInput(
            f"{name} cannot be read: {error.strerror or error}.", hint="Check the path of the backup."
        ) from error
    if begins != _SIGN:
        raise _not_a_backup(name)


def _entries(program: Path, source: Path, name: str) -> list[str]:
    """The list of what is ours in a dump: one of a whole database may hold anything else.

    Without comments on extensions, which only a superuser may restore.

    Raises:
        InvalidInput: the file is damaged, or holds no memories.
    """
    try:
        listed = output_of([program, "--list", source]).splitlines()
    except DatabaseError as error:
        hint = "The file is damaged."
        if "unsupported version" in error.message:
            hint = f"A pg_dump newer than {program} made it: install the client programs of that Postgres."
        raise InvalidInput(f"{name} cannot be read: {error.message}", hint=hint) from error
    if not any(" TABLE recall alembic_version " in line for line in listed):
        raise InvalidInput(
            f"{name} is a dump of another database: it has no memories.",
            hint="Give a file of `pgrecall backup create`.",
        )
    return [line for line in listed if _OURS.search(line)]


def _revision(program: Path, source: Path, name: str) -> str:
    """The revision of the schema in a backup.

    Raises:
        InvalidInput: it cannot be read.
        SchemaMismatch: this version does not know it.
    """
    command: list[str | Path] = [
        program,
        "--data-only",
        "--schema=recall",
        "--table=alembic_version",
        "--file=-",
        source,
    ]
    try:
        found = re.search(r"^COPY recall\.alembic_version .*\n(.+)$", output_of(command), re.M)
    except DatabaseError as error:
        raise InvalidInput(f"{name} cannot be read: {error.message}", hint="The file is damaged.") from error
    revision = found[1].strip() if found else "\\."
    if revision in known_revisions():
        return revision
    if re.fullmatch(r"\d{4}", revision) and revision > head_revision():
        raise SchemaMismatch(
            f"This backup has schema {revision}, which is newer than this pgrecall knows.",
            hint="Install the newer pgrecall; nothing was changed.",
        )
    raise SchemaMismatch(
        f"This backup has schema {revision!r}, which was never a revision of pgrecall.", hint=NO_REVISION
    )


def _require_free(connection: psycopg.Connection[Row], *, replace: bool) -> None:
    """Refuses a database that holds memories, or those that a killed restore set aside."""
    found = {row["nspname"] for row in connection.execute("SELECT nspname FROM pg_namespace").fetchall()}
    aside = [name for name in ASIDE.values() if name in found]
    if aside:
        names = ", ".join(ASIDE)
        raise InvalidInput(
            f"This database has a schema {aside[0]}: an earlier restore was killed.",
            hint=f"It holds the earlier memories. To have them back: DROP SCHEMA IF EXISTS {names} CASCADE; "
            f"{brought_back(aside)} to give them up: DROP SCHEMA {', '.join(aside)} CASCADE;",
        )
    refuse_remains(found)
    if "recall" in found and not replace:
        raise InvalidInput(
            "This database has tables of pgrecall already.",
            hint="Restore into another database (--database-url, or --data-dir for an embedded one), or use "
            "--replace, which deletes what they hold.",
        )
    dependents = connection.execute((files("pgrecall.schema") / "dependents.sql").read_bytes()).fetchall()
    if dependents:
        named = ", ".join(row["object"] for row in dependents[:5])
        raise InvalidInput(
            f"What is outside of pgrecall depends on the memories here, {len(dependents)} in all: {named}.",
            hint="A restore would drop it, or its link to them. Drop it, and create it again afterwards.",
        )


@contextmanager
def _swapped(url: str, timeout: float) -> Iterator[None]:
    """Sets the schemas of this database aside, if it has them, and drops them at the end.

    After a failure it is as it was, and nothing of the backup stays.
    """
    away = {name: f"ALTER SCHEMA {name} RENAME TO {aside}" for name, aside in ASIDE.items()}
    back = {aside: f"ALTER SCHEMA {aside} RENAME TO {name}" for name, aside in ASIDE.items()}
    there = _run(url, timeout, away)
    try:
        yield
    except BaseException:
        _run(url, timeout, {name: f"DROP SCHEMA {name} CASCADE" for name in ASIDE})
        if there:
            _run(url, timeout, back)
        raise
    if there:
        _run(url, timeout, {aside: f"DROP SCHEMA {aside} CASCADE" for aside in back})


def _run(url: str, timeout: float, statements: Mapping[str, str]) -> bool:
    """Runs the statements of those schemas that exist, all or none; returns whether one does."""
    with connect(url, timeout=timeout) as connection, connection.transaction():
        rows = connection.execute("SELECT nspname FROM pg_namespace").fetchall()
        there = {row["nspname"] for row in rows}
        for schema, statement in statements.items():
            if schema in there:
                connection.execute(statement.encode())
        return not there.isdisjoint(statements)
