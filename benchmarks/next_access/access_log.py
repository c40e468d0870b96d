"""Access logs: which items were used together, and when.

A log is NAME.csv.gz: a header `item,epoch,op,batch`, then lines in time order. `op` is `c` (created, which is
also the first access), `a` (accessed), `d` (deleted) or `b` (touched in bulk, which is no access).
Consecutive lines with the same batch are one moment of use; of several lines about an item in a batch the
last counts. An item that is used before its creation or after its deletion counts as created then, so that a
log can start at any time.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from pgrecall.errors import InvalidInput

HEADER = ["item", "epoch", "op", "batch"]
NO_HEADER = f"it is not the header {','.join(HEADER)}"
SUFFIX = ".csv.gz"
NOT_LOGS = (".links.csv.gz",)
YEAR_3000 = 32_503_680_000


@dataclass(frozen=True, slots=True)
class Batch:
    """The events of one moment (epoch seconds), by items live just before it."""

    name: str
    at: int
    born: tuple[str, ...]
    accessed: tuple[str, ...]
    deleted: tuple[str, ...]
    alive: int
    """The number of items that were live just before."""


@dataclass(frozen=True, slots=True)
class AccessLog:
    name: str
    batches: tuple[Batch, ...]

    @property
    def memories(self) -> int:
        return sum(len(batch.born) for batch in self.batches)

    @property
    def accesses(self) -> int:
        return sum(len(batch.accessed) for batch in self.batches)


@dataclass(frozen=True, slots=True)
class Line:
    item: str
    at: int
    op: str
    batch: str


def find_logs(path: Path) -> list[Path]:
    """The log at ``path``, or the logs of the folder ``path`` by name.

    Raises:
        InvalidInput: there is none.
    """
    if path.is_dir():
        found = sorted(entry for entry in path.iterdir() if entry.is_file() and _is_log(entry))
        if not found:
            raise InvalidInput(f"{path} holds no access log: none of its files is a NAME{SUFFIX}.")
        return found
    if not path.is_file():
        raise InvalidInput(f"{path} holds no access log: there is no such file or folder.")
    if not _is_log(path):
        raise InvalidInput(f"{path} is no access log: those are named NAME{SUFFIX}.")
    return [path]


def read_log(path: Path) -> AccessLog:
    """The log of one file.

    Raises:
        InvalidInput: the file cannot be read, or one of its lines; names the file and the line.
    """
    return AccessLog(path.name.removesuffix(SUFFIX), tuple(_batches(_lines(path))))


def _is_log(path: Path) -> bool:
    return path.name.endswith(SUFFIX) and not path.name.endswith(NOT_LOGS)


def _lines(path: Path) -> Iterator[Line]:
    """The lines of a log, each checked alone and against the previous one."""
    before: Line | None = None
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for number, text in enumerate(stream, 1):
                fields = text.rstrip("\n").split(",")
                if number > 1:
                    before = _line(fields, before)
                    yield before
                elif fields != HEADER:
                    raise ValueError(NO_HEADER)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path} cannot be read after line {number}: {error}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 somewhere after line {number}.") from error
    except ValueError as error:
        raise InvalidInput(f"{path}, line {number}: {error}.") from error
    if number == 0:
        raise InvalidInput(f"{path}, line 1: {NO_HEADER}.")


def _line(fields: list[str], before: Line | None) -> Line:
    """The values of a line. Raises ValueError with the reason."""
    if len(fields) != len(HEADER):
        raise ValueError(f"it has {len(fields)} fields, not the {len(HEADER)} of {','.join(HEADER)}")
    item, epoch, op, batch = fields
    if not (item and batch):
        raise ValueError("its item or batch is empty")
    if op not in ("c", "a", "d", "b"):
        raise ValueError(f"its op {op!r} is none of c, a, d, b")
    if not (epoch.isascii() and epoch.isdigit() and int(epoch) < YEAR_3000):
        raise ValueError(f"its epoch {epoch!r} is no whole number of seconds since 1970")
    at = int(epoch)
    if before and at < before.at:
        raise ValueError(f"its epoch {at} lies before that of the line above, {before.at}")
    if before and batch == before.batch and at != before.at:
        raise ValueError(f"its batch {batch!r} was at {before.at} in the line above and is at {at} here")
    return Line(item, at, op, batch)


def _batches(lines: Iterable[Line]) -> Iterator[Batch]:
    live: set[str] = set()
    for (name, at), group in groupby(lines, key=lambda line: (line.batch, line.at)):
        last = {line.item: line.op for line in group}
        touched = [item for item, op in last.items() if op in ("c", "a")]
        batch = Batch(
            name=name,
            at=at,
            born=tuple(item for item in touched if item not in live),
            accessed=tuple(item for item in touched if item in live),
            deleted=tuple(item for item, op in last.items() if op == "d" and item in live),
            alive=len(live),
        )
        live.update(batch.born)
        live.difference_update(batch.deleted)
        yield batch
