"""Limits of files sent to a service, which reads them for many tenants in one process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from pgrecall.errors import InvalidInput
from pgrecall.importers.files import ARCHIVES, ZIP_FAULTS, open_bytes

T = TypeVar("T")

UNPACKED = 10
"""A file may unpack to this multiple of the limit of a request; text packs to about a tenth."""

MAX_ITEMS = 200_000
"""Maximum number of items of one file: each takes memory, however short it is."""

_CHUNK = 1 << 20


def require_unpacked(path: Path, body_bytes: int) -> None:
    """Raises InvalidInput for a packed file that holds far more than a request of so many bytes may."""
    max_bytes = UNPACKED * body_bytes
    if _unpacked(path, max_bytes) > max_bytes:
        raise InvalidInput(
            f"{path.name} unpacks to more than {max_bytes:,} bytes.",
            hint="Send it in parts, or import it with `pgrecall import`.",
        )


def _unpacked(path: Path, max_bytes: int) -> int:
    """The bytes that are in it, counted until there are more than ``max_bytes``; 0 if it cannot be read:
    its importer reports that."""
    size = 0
    try:
        if path.suffix.lower() in ARCHIVES:
            from pgrecall.importers.markdown.archive import unpacked_bytes

            return unpacked_bytes(path)
        if path.suffix.lower() == ".gz":
            with open_bytes(path) as file:
                while size <= max_bytes and (data := file.read(_CHUNK)):
                    size += len(data)
    except ZIP_FAULTS:
        return 0
    return size


def bounded(items: Iterable[T], name: str) -> Iterator[T]:
    """The items of a file; raises InvalidInput where there are more than MAX_ITEMS."""
    for number, item in enumerate(items):
        if number == MAX_ITEMS:
            raise InvalidInput(
                f"{name} has more than {MAX_ITEMS:,} memories and problems.",
                hint="Send it in parts, or import it with `pgrecall import`.",
            )
        yield item
