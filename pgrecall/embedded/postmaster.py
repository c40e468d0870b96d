"""Starting, finding and stopping the embedded server's processes. Callers hold the start lock.

No pid is trusted. ``server.lock`` is inherited by the postmaster and all its children, so it is free exactly
when no process of the server lives; and the pid to signal is what the kernel says of the listening socket.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import socket
import struct
import sys
import time
from pathlib import Path

from pgrecall.embedded import cluster
from pgrecall.embedded.paths import Place, open_beside, run_as, try_lock
from pgrecall.errors import DatabaseUnavailable

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger("pgrecall.embedded")

START_SECONDS = 120.0  # crash recovery replays up to a gigabyte of log
STOP_SECONDS = 60.0
POLL_SECONDS = 0.005
_LOG_BYTES = 10 * 1024**2
_DYNAMIC_MEMORY_BYTES = 512 * 1024**2
_FAST = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]


def ensure_running(place: Place, *, fast: bool) -> None:
    """Wait until the server accepts connections; start it where no process of it lives."""
    deadline = time.monotonic() + START_SECONDS
    launched_at: int | None = None
    while not accepts(place):
        if not _alive(place):
            if launched_at is not None:
                reason = cluster.complaint(_log_since(place, launched_at))
                raise DatabaseUnavailable(
                    f"The embedded Postgres did not start: {reason}", hint=f"See {place.log}."
                )
            launched_at = _launch(place, fast=fast)
        if time.monotonic() > deadline:
            raise DatabaseUnavailable(
                f"The embedded Postgres was not ready after {START_SECONDS:.0f} s and still tries; "
                f"its log ends: {cluster.complaint(_log_since(place, launched_at or 0))}",
                hint=f"Try again in a while, or see {place.log}; its socket should be {place.socket}.",
            )
        time.sleep(POLL_SECONDS)
    if launched_at is not None:
        logger.info("Started Postgres %s in %s.", cluster.MAJOR, place.cluster)


def accepts(place: Place) -> bool:
    """Whether the server is ready and somebody listens; costs no process."""
    lines = _postmaster_file(place)
    return len(lines) >= 8 and lines[7].strip() == "ready" and _listening_pid(place) is not None


def stop(place: Place) -> None:
    """Fast shutdown; after ``STOP_SECONDS`` an immediate one, which the next start repairs."""
    pid = _listening_pid(place)
    if not pid:
        if _alive(place):
            logger.warning("The embedded Postgres in %s cannot be stopped from here.", place.data_dir)
        return
    for order in (signal.SIGINT, signal.SIGQUIT):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, order)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            if not _alive(place):
                logger.info("Stopped Postgres in %s (%s).", place.data_dir, order.name)
                return
            time.sleep(POLL_SECONDS)
    logger.warning("The embedded Postgres in %s does not stop.", place.data_dir)


def _postmaster_file(place: Place) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return (place.cluster / "postmaster.pid").read_text(errors="replace").splitlines()
    return []


def _listening_pid(place: Place) -> int | None:
    """The process that listens on the socket (0 where it is in another container); None where nobody does."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(place.socket))
        except OSError:
            return None
        if sys.platform == "darwin":
            return client.getsockopt(0, 2)  # SOL_LOCAL, LOCAL_PEERPID
        pid, _, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return int(pid)


def _alive(place: Place) -> bool:
    """Whether any process of the server lives, orphans of a killed postmaster included."""
    lock = open_beside(place, "server.lock")
    try:
        return not try_lock(lock, fcntl.LOCK_EX)
    finally:
        os.close(lock)


def _launch(place: Place, *, fast: bool) -> int:
    """Start a postmaster that is nobody's child and outlives us; returns where its part of the log begins."""
    programs = cluster.prepare(place, fast=fast)
    if place.log.exists() and place.log.stat().st_size > _LOG_BYTES:
        place.log.replace(place.log.with_name("postgres.log.1"))
    directory = str(place.socket.parent).replace('"', '""')
    options = ["-p", "5432", "-c", f'unix_socket_directories="{directory}"', *_dynamic_memory()]
    # No process of the server lives, so a pid in the file is stale even if another program has it by now.
    # Postgres passes over a lock file that names its grandparent, and still checks for shared memory in use.
    stale = _postmaster_file(place)[:1]
    command: list[str | Path] = ["/bin/sh", "-c", '"$@" &', "sh", programs / "postgres", "-D", place.cluster]
    log = open_beside(place, place.log.name, os.O_APPEND)
    lock = open_beside(place, "server.lock")
    try:
        try_lock(lock, fcntl.LOCK_EX)
        begin = os.fstat(log).st_size
        run_as(
            place.account,
            [*command, *options, *(_FAST if fast else [])],
            output=log,
            pass_fds=[lock],
            environment={"PG_GRANDPARENT_PID": stale[0]} if stale else {},
        )
        return begin
    finally:
        os.close(lock)
        os.close(log)


def _dynamic_memory() -> list[str]:
    """Parallel index builds want 256 MB of /dev/shm; containers have 64, which does not bind SysV memory."""
    if sys.platform != "linux":
        return []
    with contextlib.suppress(OSError):
        if shutil.disk_usage("/dev/shm").total >= _DYNAMIC_MEMORY_BYTES:
            return []
    return ["-c", "dynamic_shared_memory_type=sysv"]


def _log_since(place: Place, begin: int) -> str:
    with place.log.open("rb") as log:
        log.seek(max(begin, os.fstat(log.fileno()).st_size - 100_000))
        return log.read().decode(errors="replace")
