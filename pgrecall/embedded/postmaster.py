"""Starting, finding and stopping the embedded server's processes. Callers hold the start lock.

No pid file is trusted. ``server.lock`` is inherited by the postmaster and all its children, so it is free
exactly when no process of the server lives. The pid to signal is that of the listening socket, which the
kernel reports.
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
from pgrecall.embedded.paths import ServerPaths, open_in_data_dir, run_as, try_lock
from pgrecall.errors import DatabaseUnavailable

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger("pgrecall.embedded")

START_SECONDS = 120.0  # crash recovery replays up to a gigabyte of log
STOP_SECONDS = 60.0
POLL_SECONDS = 0.005
_LOG_BYTES = 10 * 1024**2
_DYNAMIC_MEMORY_BYTES = 512 * 1024**2
_NO_SYNC_OPTIONS = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]


def ensure_running(paths: ServerPaths, *, fast: bool) -> None:
    """Waits until the server accepts connections; starts it where no process of it lives."""
    deadline = time.monotonic() + START_SECONDS
    launched_at: int | None = None
    while not accepts(paths):
        if not _any_process_alive(paths):
            if launched_at is not None:
                reason = cluster.error_lines(_log_since(paths, launched_at))
                raise DatabaseUnavailable(
                    f"The embedded Postgres did not start: {reason}", hint=f"See {paths.log}."
                )
            launched_at = _launch(paths, fast=fast)
        if time.monotonic() > deadline:
            raise DatabaseUnavailable(
                f"The embedded Postgres was not ready after {START_SECONDS:.0f} s and still tries; "
                f"its log ends: {cluster.error_lines(_log_since(paths, launched_at or 0))}",
                hint=f"Try again in a while, or see {paths.log}; its socket should be {paths.socket}.",
            )
        time.sleep(POLL_SECONDS)
    if launched_at is not None:
        logger.info("Started Postgres %s in %s.", cluster.MAJOR, paths.cluster)


def accepts(paths: ServerPaths) -> bool:
    """Whether the server is ready and listens; starts no process."""
    lines = _postmaster_file(paths)
    return len(lines) >= 8 and lines[7].strip() == "ready" and _listening_pid(paths) is not None


def stop(paths: ServerPaths) -> None:
    """Fast shutdown; after ``STOP_SECONDS`` an immediate one, which the next start repairs."""
    pid = _listening_pid(paths)
    if not pid:
        if _any_process_alive(paths):
            logger.warning("The embedded Postgres in %s cannot be stopped by this process.", paths.data_dir)
        return
    for order in (signal.SIGINT, signal.SIGQUIT):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, order)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            if not _any_process_alive(paths):
                logger.info("Stopped Postgres in %s (%s).", paths.data_dir, order.name)
                return
            time.sleep(POLL_SECONDS)
    logger.warning("The embedded Postgres in %s does not stop.", paths.data_dir)


def _postmaster_file(paths: ServerPaths) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return (paths.cluster / "postmaster.pid").read_text(errors="replace").splitlines()
    return []


def _listening_pid(paths: ServerPaths) -> int | None:
    """Pid of the process that listens on the socket, 0 if in another container, None if there is none."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(paths.socket))
        except OSError:
            return None
        if sys.platform == "darwin":
            return client.getsockopt(0, 2)  # SOL_LOCAL, LOCAL_PEERPID
        pid, _, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return int(pid)


def _any_process_alive(paths: ServerPaths) -> bool:
    """Whether any process of the server lives, orphans of a killed postmaster included."""
    lock = open_in_data_dir(paths, "server.lock")
    try:
        return not try_lock(lock, fcntl.LOCK_EX)
    finally:
        os.close(lock)


def _launch(paths: ServerPaths, *, fast: bool) -> int:
    """Starts a postmaster detached from this process; returns the offset in the log where its part begins."""
    programs = cluster.prepare_cluster(paths, fast=fast)
    if paths.log.exists() and paths.log.stat().st_size > _LOG_BYTES:
        paths.log.replace(paths.log.with_name("postgres.log.1"))
    directory = str(paths.socket.parent).replace('"', '""')
    options = ["-p", "5432", "-c", f'unix_socket_directories="{directory}"', *_dynamic_memory()]
    # No process of the server lives, so a pid in the file is stale even if another program has it by now.
    # Postgres ignores a lock file that names its grandparent, and still checks for shared memory in use.
    stale = _postmaster_file(paths)[:1]
    command: list[str | Path] = ["/bin/sh", "-c", '"$@" &', "sh", programs / "postgres", "-D", paths.cluster]
    log = open_in_data_dir(paths, paths.log.name, os.O_APPEND)
    lock = open_in_data_dir(paths, "server.lock")
    try:
        try_lock(lock, fcntl.LOCK_EX)
        begin = os.fstat(log).st_size
        run_as(
            paths.account,
            [*command, *options, *(_NO_SYNC_OPTIONS if fast else [])],
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


def _log_since(paths: ServerPaths, begin: int) -> str:
    with paths.log.open("rb") as log:
        log.seek(max(begin, os.fstat(log.fileno()).st_size - 100_000))
        return log.read().decode(errors="replace")
