"""One backup of a database: a file of pg_dump that appears under its name when it is complete."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from threading import Event

import psycopg

from pgrecall.database.connections import connect
from pgrecall.database.server import Row, server_facts
from pgrecall.errors import DatabaseError, DatabaseUnsuitable, InvalidInput, SchemaMismatch
from pgrecall.schema.aside import ASIDE
from pgrecall.schema.backups.programs import connection_arguments, find_program, run_program
from pgrecall.schema.roles import act_as_owner
from pgrecall.schema.state import state_of

PART = ".part"
"""The end of the name of a backup that is being written."""

EXTENSIONS = ("vector", "pg_trgm", "unaccent")

_FULL = ("No space left", "could not write", "File too large", "Disk quota", "SIGXFSZ")
"""How pg_dump says that it could not write its file."""

_ROLE = (
    "SELECT r.rolsuper AS all, n.nspowner::regrole::text AS owner FROM pg_roles r, pg_namespace n "
    "WHERE r.rolname = current_user AND n.nspname = 'recall'"
)


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made: its file (None: a stream), its size, and the revision of the schema in it."""

    path: Path | None
    bytes: int
    revision: str


def make_backup(
    url: str,
    target: Path | int,
    *,
    replace: bool = False,
    timeout: float = 10.0,
    stop: Event | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Backup:
    """Backs up both schemas of a database as of one instant, while others write.

    Args:
        target: the file, which only its owner may read; or the descriptor of a stream.
        replace: whether the file may exist; it is replaced when the new one is complete.
        timeout: seconds to connect.
        stop: once set, the backup is broken off and leaves nothing.
        progress: called with the bytes written so far.

    Raises:
        InvalidInput: the file exists or cannot be written, or no pg_dump fits the server.
        SchemaMismatch: the database holds no memories.
        DatabaseUnsuitable: the role of the URL may not read all of them.
        DatabaseError: pg_dump failed.
        BrokenOff: ``stop`` was set.
    """
    revision, command, variables = _dump(url, timeout)
    if isinstance(target, int):
        run_program(command, variables=variables, output=target, stop=stop)
        return Backup(None, 0, revision)
    with _written(target, replace=replace) as part:
        try:
            run_program(
                [*command, f"--file={part}"],
                variables=variables,
                stop=stop,
                progress=lambda: progress(part.stat().st_size),
            )
        except DatabaseError as error:
            if any(words in error.message for words in _FULL):
                raise InvalidInput(
                    f"{target} cannot be written: {error.message}", hint="Make room, or name another folder."
                ) from error
            raise
        size = part.stat().st_size
    return Backup(target, size, revision)


def _dump(url: str, timeout: float) -> tuple[str, Sequence[str | Path], Mapping[str, str]]:
    """The revision of a database; the command that dumps it to standard output, and its variables."""
    with connect(url, timeout=timeout) as connection:
        revision = state_of(connection.cursor()).revision
        if revision is None:
            raise SchemaMismatch(
                "This database is not initialised, so there is nothing to back up.",
                hint="Check PGRECALL_DATABASE_URL or --database-url.",
            )
        program = find_program("pg_dump", server_facts(connection).version)
        role = reading_role(connection)
    arguments, variables = connection_arguments(url)
    command: list[str | Path] = [
        program,
        *arguments,
        *role,
        "--format=custom",
        *(f"--schema={name}" for name in ASIDE),
        "--lock-wait-timeout=60s",
        *(f"--extension={name}" for name in EXTENSIONS),
    ]
    return revision, command, variables


def reading_role(connection: psycopg.Connection[Row]) -> list[str]:
    """The option for a role that reads every row: row security does not bind superusers and the owner."""
    row = connection.execute(_ROLE).fetchone()
    assert row is not None
    if row["all"]:
        return []
    try:
        with connection.transaction():
            act_as_owner(connection)
    except DatabaseUnsuitable as error:
        raise DatabaseUnsuitable(
            f"A backup needs a role that may read everything. {error.message}",
            hint=f"Use the role that installed pgrecall or a superuser. {error.hint}",
        ) from None
    return [f"--role={row['owner']}"]


@contextmanager
def _written(target: Path, *, replace: bool) -> Iterator[Path]:
    """A new private file beside the target, which takes its place at the end, or is removed after a failure.

    A kill leaves it, under its own random name.
    """
    try:
        final = Path(os.path.realpath(target))  # what a link points to is replaced, not the link
        _require_free(final, replace=replace)
        part = final.with_name(f"{final.name}.{token_hex(4)}{PART}")
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            yield part
            _publish(part, final, replace=replace)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"{target} cannot be written: {error.strerror or error}.",
            hint="Name a file in a folder that exists and that you can write to.",
        ) from error


def _require_free(target: Path, *, replace: bool) -> None:
    if not os.path.lexists(target):
        return
    if not stat.S_ISREG(target.stat().st_mode):
        raise InvalidInput(f"{target} is not a file.", hint="Name a new file; - is standard output.")
    if not replace:
        raise InvalidInput(f"{target} exists already.", hint="Name another file, or use --force.")


def _publish(part: Path, target: Path, *, replace: bool) -> None:
    """Gives the complete file its name, on the disk too."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    if not replace:
        try:
            os.link(part, target)  # fails where another process has made the file meanwhile
        except FileExistsError:
            _require_free(target, replace=False)
        except OSError:  # a file system without links
            _require_free(target, replace=False)
            part.replace(target)
    else:
        part.replace(target)
    with suppress(OSError):  # some file systems cannot; the file is there all the same
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
