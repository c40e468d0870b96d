"""Fast loading: vectors as one array in the binary format of COPY, and indexes created after the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg

Connect = psycopg.Connection[Any]

_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TAIL = b"\xff\xff"
_INDEXES = """
SELECT format('%%I.%%I', n.nspname, c.relname), pg_get_indexdef(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE i.indrelid = ANY (%s::regclass[])
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
"""


def vector_rows(tenant: str, ids: npt.NDArray[np.int64], vectors: npt.NDArray[np.float32]) -> list[bytes]:
    """Rows of (tenant, memory_id, embedding) in the format of COPY; the last is a halfvec."""
    name = tenant.encode()
    dimensions = vectors.shape[1]
    rows = np.zeros(
        len(ids),
        dtype=[
            ("fields", ">i2"), ("tenant size", ">i4"), ("tenant", f"S{len(name)}"), ("id size", ">i4"),
            ("id", ">i8"), ("size", ">i4"), ("dimensions", ">i2"), ("unused", ">i2"),
            ("embedding", ">u2", (dimensions,)),
        ],
    )  # fmt: skip
    rows["fields"], rows["tenant size"], rows["tenant"] = 3, len(name), name
    rows["id size"], rows["id"] = 8, ids
    rows["size"], rows["dimensions"] = 4 + 2 * dimensions, dimensions
    rows["embedding"] = vectors.astype(np.float16).view(np.uint16)
    blob, size = rows.tobytes(), rows.itemsize
    return [blob[start : start + size] for start in range(0, len(blob), size)]


def copy_vectors(connection: Connect, rows: Iterable[bytes], table: str = "vector_shared") -> None:
    """Stores the output of ``vector_rows`` in the shared table of vectors, or in that of a tenant."""
    into = f"COPY recall.{table} (tenant, memory_id, embedding) FROM STDIN (FORMAT binary)"
    with connection.cursor().copy(into.encode()) as copy:
        copy.write(_HEAD + b"".join(rows) + _TAIL)


def copy_rows(
    connection: Connect, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[object]]
) -> None:
    """Stores rows of the named columns, each with its type, in binary format."""
    into = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT binary)"
    with connection.cursor().copy(into) as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)


@contextmanager
def indexed_after(connection: Connect, *tables: str) -> Iterator[None]:
    """Drops the indexes of these tables and creates them at the end; unique constraints stay."""
    found = connection.execute(_INDEXES, (list(tables),)).fetchall()
    for name, _ in found:
        connection.execute(f"DROP INDEX {name}")
    yield
    for _, definition in found:
        connection.execute(definition.replace(" ON ONLY ", " ON "))
