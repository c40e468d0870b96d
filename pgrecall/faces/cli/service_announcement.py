"""Announcements of running services: private files in the data directory, which the command line reads."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

MOST_FILES = 4
"""Announcements that are read, newest first: a service that was killed leaves its file behind."""

_MOST_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a service announces. ``token`` gives access to its models where others need a key."""

    url: str
    pid: int
    version: str
    embedder: str | None
    reranker: str | None
    token: str | None = None


@contextlib.contextmanager
def announced(data_dir: Path, port: int, announcement: Announcement) -> Iterator[None]:
    """Keeps the file in place for the duration, readable only by its owner.

    Raises:
        OSError: the data directory cannot be written.
    """
    folder = data_dir.expanduser()
    if not folder.exists():
        folder.mkdir(parents=True)
        # As root an embedded server started later runs as another account, which has to pass.
        folder.chmod(0o755 if os.geteuid() == 0 else 0o700)
    path = folder / f"service-{port}.json"
    _write(path, json.dumps(asdict(announcement), indent=1))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            found = _read(path)
            if found is not None and found.pid == announcement.pid:  # not the file of a later service
                path.unlink()


def announcements(data_dir: Path) -> list[Announcement]:
    """Announcements of services that may be running, newest first. Files of other users are skipped."""
    with contextlib.suppress(OSError):
        aged = [(path.stat().st_mtime, path) for path in data_dir.expanduser().glob("service-*.json")]
        read = [_read(path) for _, path in sorted(aged, reverse=True)]
        return [found for found in read if found is not None and _alive(found.pid)][:MOST_FILES]
    return []


def _write(path: Path, text: str) -> None:
    """Writes the file atomically."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)


def _read(path: Path) -> Announcement | None:
    """The announcement; None where another user could have written it, as queries are sent to its address."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            status = os.fstat(file.fileno())
            private = stat.S_ISREG(status.st_mode) and not status.st_mode & 0o077
            if not private or status.st_uid != os.geteuid():
                return None
            found = Announcement(**json.loads(file.read(_MOST_BYTES)))
    except (OSError, ValueError, TypeError):
        return None
    return found if isinstance(found.pid, int) and isinstance(found.url, str) else None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError, ValueError):
        return False
    except PermissionError:
        return True
    return pid > 0
