"""Folders for the data of the servers that tests start: in memory where there is room, else on disk.

A database of a test is 600 files, which are made and soon removed. In memory a clone of the template takes
18 ms of processor time. On ext4 without a journal it takes 180 to 350, nearly all of it in the kernel, which
looks for inodes that were not removed a moment ago.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.errors import RecallError

MEMORY = Path("/dev/shm")
ENOUGH = 6 * 1024**3
"""Bytes that /dev/shm must have. A whole run fills at most two gigabytes; containers often give it 64 MB."""

PREFIX = "pgrtest-"
FORGOTTEN = 3600.0
"""Seconds after which a folder without a running server is what a killed run has left."""


def parent_folder() -> Path:
    """Where the folders are; the same in every process of a run."""
    with suppress(OSError):
        if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).total >= ENOUGH:
            return MEMORY
    return Path(tempfile.gettempdir())


@contextmanager
def server_folder() -> Iterator[Path]:
    """A new folder that the account of an embedded server may enter when the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent_folder()))
    folder.chmod(0o755)  # not pytest's own folders, which are closed to that account
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_forgotten() -> None:
    """Removes what killed runs have left, for it takes memory, and ends their servers."""
    for folder in parent_folder().glob(f"{PREFIX}*"):
        with suppress(OSError, RecallError):  # another run may be removing it
            if time.time() - folder.stat().st_mtime > FORGOTTEN and not _in_use(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _in_use(folder: Path) -> bool:
    """Whether a process uses a server in this folder, or one runs that cannot be stopped."""
    for running in folder.glob("*/server.lock"):
        if _locked(running.with_name("users.lock")):
            return True
        if _locked(running):  # its last user was killed; another use stops it
            EmbeddedServer.start(running.parent).release()
        if _locked(running):
            return True
    return False


def _locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
