"""What a snapshot of the source of a move sees, and which rows the messages of its log name."""

from __future__ import annotations

import struct

import pytest

from pgrecall.cells.moves.changed_rows import Snapshot
from pgrecall.cells.moves.log_messages import ChangedRow, changed_rows
from pgrecall.errors import DatabaseError


@pytest.mark.parametrize(
    ("xid", "seen"), [(99, True), (100, False), (102, True), (104, False), (105, False), (2**31, False)]
)
def test_what_had_ended_is_seen(xid: int, seen: bool) -> None:
    assert Snapshot.read("100:105:100,104").sees(xid) is seen


def test_ids_begin_again_after_the_last_one() -> None:
    epoch = 7 * 2**32
    snapshot = Snapshot.read(f"{epoch - 10}:{epoch + 20}:{epoch - 5},{epoch + 3}")
    seen = [2**32 - 11, 2**32 - 4, 2, 19]
    assert [xid for xid in (*seen, 2**32 - 5, 3, 20, 21) if snapshot.sees(xid)] == seen
    assert Snapshot.read(f"{epoch}:{epoch}:").sees(2**32 - 1)


def relation(number: int, name: str, columns: dict[str, bool]) -> bytes:
    head = b"R" + struct.pack("!i", number) + b"recall\0" + name.encode() + b"\0d"
    parts = [bytes([key]) + column.encode() + b"\0" + bytes(8) for column, key in columns.items()]
    return head + struct.pack("!h", len(columns)) + b"".join(parts)


def row(kind: bytes, values: list[str | None]) -> bytes:
    fields = [
        b"n" if one is None else b"t" + struct.pack("!i", len(one.encode())) + one.encode() for one in values
    ]
    return kind + struct.pack("!h", len(values)) + b"".join(fields)


LINK = relation(5, "link", {"tenant": True, "src": True, "note": False})
FIVE = struct.pack("!i", 5)


def test_the_keys_of_changed_rows() -> None:
    found = changed_rows(
        [
            (8, b"B" + bytes(20)),
            (8, LINK),
            (8, b"I" + FIVE + row(b"N", ["zürich", "1", "a note"])),
            (8, b"U" + FIVE + row(b"K", ["acme", "1", None]) + row(b"N", ["acme", "2", "a note"])),
            (8, b"C" + bytes(25)),
            (9, b"D" + FIVE + row(b"K", ["acme", "2", None])),
        ]
    )
    assert list(found) == [
        ChangedRow(8, "link", {"tenant": "zürich", "src": "1"}),
        ChangedRow(8, "link", {"tenant": "acme", "src": "1"}),
        ChangedRow(8, "link", {"tenant": "acme", "src": "2"}),
        ChangedRow(9, "link", {"tenant": "acme", "src": "2"}),
    ]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"T" + struct.pack("!ib", 1, 0) + FIVE, "was emptied while it was compared"),
        (b"D" + FIVE + row(b"K", ["acme", None, None]), "link came without the primary key"),
    ],
)
def test_what_names_no_row_is_an_error(message: bytes, said: str) -> None:
    with pytest.raises(DatabaseError, match=said):
        list(changed_rows([(8, LINK), (8, message)]))
