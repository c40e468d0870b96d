"""Parsing of messages of Postgres's output plugin ``pgoutput`` that name changed rows.

Their format is in the documentation of Postgres, under "Logical Replication Message Formats".
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pgrecall.errors import DatabaseError

Key = Mapping[str, str]
"""The columns of a row's primary key with their values, as text."""


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row that was stored, changed or deleted, with the transaction that did it, without its epoch."""

    xid: int
    table: str
    key: Key


def changed_rows(messages: Iterable[tuple[int, bytes]]) -> Iterator[ChangedRow]:
    """The rows in messages of protocol version 1, each given with its transaction.

    Raises:
        DatabaseError: a table was emptied by TRUNCATE, which names no rows.
    """
    tables: dict[int, _Table] = {}
    for xid, data in messages:
        message = _Message(data)
        kind = message.byte()
        if kind == b"R":
            number = message.number()
            tables[number] = message.table()
        elif kind in _ROWS:
            table = tables[message.number()]
            for key in message.keys(table):
                yield ChangedRow(xid, table.name, key)
        elif kind == b"T":
            raise DatabaseError(
                "A table was emptied while it was compared.", hint="Try again.", sqlstate="55P03"
            )


_ROWS = (b"I", b"U", b"D")


@dataclass(frozen=True, slots=True)
class _Table:
    """A table: its name, and for each column the name if it is in the key."""

    name: str
    columns: tuple[str | None, ...]


class _Message:
    """A message, which is read from its beginning to its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def byte(self) -> bytes:
        return self._bytes(1)

    def number(self) -> int:
        """A number of four bytes."""
        return int(struct.unpack("!i", self._bytes(4))[0])

    def table(self) -> _Table:
        """A table, after its number."""
        self._text()  # the schema
        name = self._text()
        self.byte()  # the kind of its replica identity, which is the primary key
        return _Table(name, tuple(self._column() for _ in range(self._short())))

    def keys(self, table: _Table) -> Iterator[Key]:
        """The keys of a changed row: one, or two if the key itself has changed."""
        while self._at < len(self._data):
            self.byte()  # whether it is the old row or the new one
            fields = [self._field() for _ in range(self._short())]
            pairs = zip(table.columns, fields, strict=True)
            key = {name: field for name, field in pairs if name is not None and field is not None}
            if len(key) != sum(name is not None for name in table.columns) or not key:
                raise DatabaseError(f"A change of {table.name} came without the primary key of its row.")
            yield key

    def _column(self) -> str | None:
        in_key = self.byte() == b"\1"
        name = self._text()
        self._bytes(8)  # its type and the modifier of that
        return name if in_key else None

    def _field(self) -> str | None:
        """A value as text; None if it is NULL or was not sent because it has not changed."""
        if self.byte() != b"t":
            return None
        return self._bytes(self.number()).decode()

    def _short(self) -> int:
        return int(struct.unpack("!h", self._bytes(2))[0])

    def _text(self) -> str:
        end = self._data.index(b"\0", self._at)
        text = self._data[self._at : end].decode()
        self._at = end + 1
        return text

    def _bytes(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        self._at += count
        return taken
