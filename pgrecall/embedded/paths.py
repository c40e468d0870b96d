"""The directories of the embedded Postgres, and the system account it runs as.

    <data_dir>/postgres/      the cluster, owned by that account
               run/           the socket, 0700 (in /tmp where this path is too long or has a comma)
               postgres.log   and postgres.log.1, the previous one
               *.lock         who starts it, who uses it, and whether any of its processes lives

Postgres refuses to run as root. For root the server runs as the owner of an existing cluster or data
directory, else as the system account ``pgrecall`` (made with useradd; where that is impossible as
``postgres`` or ``nobody``). That account must reach the data: root's default directory is usually closed to
it, so the data then goes to /var/lib/pgrecall and a symbolic link in the default place says so. Any other
directory it cannot reach is refused, a volume mounted in the default place too. No permission outside our
own directory is ever changed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from pgrecall.errors import DatabaseUnavailable, InvalidInput

if sys.platform != "win32":
    import fcntl
    import pwd

logger = logging.getLogger("pgrecall.embedded")

DIRECTORY_HINT = (
    "Set PGRECALL_DATA_DIR to another directory, or PGRECALL_DATABASE_URL to a Postgres of your own."
)
_ROOT_DATA_DIR = Path("/var/lib/pgrecall")
_SOCKET_PATH_BYTES = 103  # sun_path on macOS; Linux has four more
_PROGRAM_SECONDS = 600
_ACCOUNT_COMMANDS = (
    "useradd --system --user-group --no-create-home --shell /usr/sbin/nologin pgrecall",
    "adduser -S -D -H -s /sbin/nologin pgrecall",  # busybox
)
_ACCOUNT_LOCK = Path("/run/pgrecall-account.lock")
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}  # no PG* variable gets through


@dataclass(frozen=True, slots=True)
class Account:
    """The system account the server runs as; this process's own unless it is root."""

    uid: int
    gid: int

    @property
    def name(self) -> str:
        with contextlib.suppress(KeyError):
            return pwd.getpwuid(self.uid).pw_name
        return str(self.uid)


@dataclass(frozen=True, slots=True)
class ServerPaths:
    """The directories of one embedded server; the same in every process that uses the same data."""

    data_dir: Path
    account: Account

    @property
    def cluster(self) -> Path:
        return self.data_dir / "postgres"

    @property
    def log(self) -> Path:
        return self.data_dir / "postgres.log"

    @property
    def socket(self) -> Path:
        near = self.data_dir / "run" / ".s.PGSQL.5432"
        if len(os.fsencode(near)) <= _SOCKET_PATH_BYTES and "," not in str(near):  # libpq's list of hosts
            return near
        digest = hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]
        return Path(f"/tmp/pgrecall-{self.account.uid}-{digest}") / near.name


@contextlib.contextmanager
def translated_os_errors(data_dir: Path) -> Iterator[None]:
    """Turns the operating system's errors into errors of pgrecall with a hint."""
    try:
        yield
    except (NotADirectoryError, FileExistsError) as error:
        raise InvalidInput(
            f"{error.filename or data_dir} is not a directory.", hint=DIRECTORY_HINT
        ) from error
    except NotImplementedError as error:  # filelock raises it for a file system without flock
        raise DatabaseUnavailable(
            f"The file system of {data_dir} has no locks.", hint=DIRECTORY_HINT
        ) from error
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise DatabaseUnavailable(
            f"The embedded Postgres cannot use {data_dir}: {reason} ({error.filename or 'no file'}).",
            hint=DIRECTORY_HINT,
        ) from error


def run_as(
    account: Account,
    command: Sequence[str | Path],
    *,
    output: int = subprocess.PIPE,
    pass_fds: Sequence[int] = (),
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a program as the account, without the caller's terminal, environment and directory."""
    switch = os.geteuid() == 0 and account.uid != 0
    try:
        return subprocess.run(
            command,
            user=account.uid if switch else None,
            group=account.gid if switch else None,
            extra_groups=[] if switch else None,
            cwd="/",
            env={**_ENVIRONMENT, **(environment or {})},
            umask=0o077,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=pass_fds,
            start_new_session=True,
            timeout=_PROGRAM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DatabaseUnavailable(
            f"{command[0]} did not finish in {_PROGRAM_SECONDS} s.", hint=DIRECTORY_HINT
        ) from error
    except OSError as error:
        if not switch or error.errno not in (errno.EPERM, errno.EINVAL):
            raise
        raise DatabaseUnavailable(
            f"Postgres does not run as root, and this process may not switch to {account.name}.",
            hint="Run pgrecall as an ordinary user, or set PGRECALL_DATABASE_URL.",
        ) from error


def resolve_paths(wanted: Path) -> ServerPaths:
    """The paths for this data directory; creates nothing but, for root, an account and a symbolic link."""
    data_dir = wanted.expanduser().resolve()
    if (data_dir / "PG_VERSION").exists():
        raise InvalidInput(
            f"{data_dir} is a Postgres cluster itself, not a directory for one.", hint=DIRECTORY_HINT
        )
    if os.geteuid() != 0:
        return ServerPaths(data_dir, Account(os.geteuid(), os.getegid()))
    paths = ServerPaths(data_dir, _account_for(data_dir))
    if paths.cluster.exists():
        return paths
    try:
        require_reachable(paths)
    except DatabaseUnavailable as error:
        is_default = wanted == Path(platformdirs.user_data_dir("pgrecall"))
        if not is_default or data_dir.is_mount():  # a volume mounted there was chosen by the user
            raise
        logger.warning("%s The data is in %s instead.", error.message, _ROOT_DATA_DIR)
    else:
        return paths
    with contextlib.suppress(OSError):  # the link only informs: the rule above gives the same directory
        data_dir.parent.mkdir(parents=True, exist_ok=True)
        data_dir.symlink_to(_ROOT_DATA_DIR)
    return ServerPaths(_ROOT_DATA_DIR, _account_for(_ROOT_DATA_DIR))


def _account_for(data_dir: Path) -> Account:
    for owned in (data_dir / "postgres", data_dir):
        if owned.exists() and (status := owned.stat()).st_uid != 0:
            return Account(status.st_uid, status.st_gid)
    if (account := _account_named("pgrecall") or _new_account()) is not None:
        return account
    for name in ("postgres", "_postgres", "nobody"):
        if (account := _account_named(name)) is not None:
            return account
    raise DatabaseUnavailable(
        "Postgres does not run as root, and there is no account it could run as.",
        hint="Run pgrecall as an ordinary user, or set PGRECALL_DATABASE_URL.",
    )


def _new_account() -> Account | None:
    """Creates the account; one process at a time, as two useradd at once give it one id, then another."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # no /run, as on macOS, which has no useradd either
            lock = os.open(_ACCOUNT_LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            held.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
        if (account := _account_named("pgrecall")) is not None:
            return account
        for maker in _ACCOUNT_COMMANDS:
            with contextlib.suppress(OSError):
                run_as(Account(0, 0), maker.split())
            if (account := _account_named("pgrecall")) is not None:
                logger.info("Created the system account pgrecall for the embedded Postgres.")
                return account
    return None


def _account_named(name: str) -> Account | None:
    with contextlib.suppress(KeyError):
        entry = pwd.getpwnam(name)
        return Account(entry.pw_uid, entry.pw_gid)
    return None


def require_reachable(paths: ServerPaths) -> None:
    """Refuses, as root, a data directory that the server's account cannot reach; names the closed
    directory."""

    def can_enter(directory: Path) -> bool:
        return run_as(paths.account, ["/bin/sh", "-c", 'cd "$1"', "sh", directory]).returncode == 0

    existing = [path for path in (paths.data_dir, *paths.data_dir.parents) if path.is_dir()]
    if os.geteuid() == 0 and not can_enter(existing[0]):
        closed = next((path for path in reversed(existing) if not can_enter(path)), existing[0])
        raise DatabaseUnavailable(
            f"Postgres does not run as root, and its account {paths.account.name} may not enter {closed}.",
            hint=f"Set PGRECALL_DATA_DIR to a directory it can reach, such as {_ROOT_DATA_DIR}.",
        )


def make_data_dir(paths: ServerPaths) -> None:
    """Creates the data directory: private, or passable where root's server runs as another account."""
    wanted = (paths.data_dir, *paths.data_dir.parents)
    for path in reversed([path for path in wanted if not path.exists()]):
        path.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            path.chmod(0o755)
        elif path == paths.data_dir:
            path.chmod(0o700)
    if not paths.data_dir.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(paths.data_dir))


def open_in_data_dir(paths: ServerPaths, name: str, flags: int = 0) -> int:
    """Opens a private file in the data directory; where root makes it, it goes to the directory's owner."""
    path = paths.data_dir / name
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
    if os.geteuid() == 0:
        owner = paths.data_dir.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def try_lock(descriptor: int, kind: int) -> bool:
    """Takes a lock unless a conflicting one is held."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
