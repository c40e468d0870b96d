"""What storing costs: one memory beside a bare INSERT, an import beside COPY with indexes built after."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from statistics import median
from typing import Any

import psycopg

from benchmarks.measure import KNOWN, Goal, Row, interleaved, seconds
from benchmarks.speed_world import Question, Tenant

Connect = psycopg.Connection[Any]

_REMEMBER = (
    "SELECT recall.remember(%(text)s, p_embedding => %(vector)s::halfvec, p_embedded_with => %(embedder)s)"
)
_INSERT = """
INSERT INTO recall.memory (tenant, layer, body, embedding, embedded_with)
VALUES (%(tenant)s, 'knowledge', %(text)s, %(vector)s::halfvec, %(embedder)s)
"""
_STORED = "tenant, layer, title, body, created_at, updated_at, embedding, embedded_with"
_BATCH = 500


def one(connection: Connect, asked: Sequence[Question], tenant: Tenant, embedder: str, calls: int) -> Row:
    """One memory with its vector, and one bare row in the same table, with all its indexes and triggers."""
    connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant.name,))
    numbers = count()

    def storing(sql: str) -> Callable[[], object]:
        def store() -> None:
            number = next(numbers)
            question = asked[number % len(asked)]
            given = {"text": f"{question.text} {number}", "vector": question.vector}
            connection.execute(sql, given | {"tenant": tenant.name, "embedder": embedder}, prepare=True)

        return store

    bare, whole = interleaved([storing(_INSERT), storing(_REMEMBER)], calls)
    return Row(
        "one remember, embedding given", "bare INSERT, same indexes", whole * 1e3, bare * 1e3, "ms", Goal(1.3)
    )


def bulk(connection: Connect, tenant: Tenant, rows: int, rounds: int) -> Iterator[Row]:
    """Many memories at once, into tenants of their own, beside COPY into a bare copy of the table."""
    connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant.name,))
    for vectors, goal in ((False, Goal(2.5)), (True, KNOWN)):
        drafts, copied = (
            _drafts(connection, tenant, rows, vectors=vectors),
            _copied(connection, tenant, rows, vectors),
        )
        floors, taken = [], []
        for turn in range(rounds):
            floors.append(seconds(partial(_copy_and_index, connection, copied)))
            connection.execute("DROP TABLE recall.speed_copy")
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (f"bulk {turn} {vectors}",))
            taken.append(seconds(partial(_remember_all, connection, drafts)))
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant.name,))
        yield Row(
            f"import of {rows:,} memories {'with' if vectors else 'without'} vectors",
            "COPY, indexes built after", median(taken), median(floors), "s", goal,
        )  # fmt: skip


def _drafts(connection: Connect, tenant: Tenant, rows: int, *, vectors: bool) -> list[tuple[str, str | None]]:
    """The arguments of remember_many, a batch each."""
    found = connection.execute(
        "SELECT body, layer, embedding::text, embedded_with FROM recall.memory "
        "WHERE tenant = %s AND title = '' ORDER BY id LIMIT %s",
        (tenant.name, rows),
    ).fetchall()
    made = [
        {"body": body, "layer": layer, **({"embedding": vector} if vectors else {})}
        for body, layer, vector, _ in found
    ]
    name = found[0][3] if vectors else None
    return [(json.dumps(made[start : start + _BATCH]), name) for start in range(0, len(made), _BATCH)]


def _copied(connection: Connect, tenant: Tenant, rows: int, vectors: bool) -> bytes:
    stored = _STORED if vectors else _STORED.replace("embedding, embedded_with", "NULL::halfvec, NULL::text")
    chosen = f"SELECT {stored} FROM recall.memory WHERE tenant = '{tenant.name}' AND title = '' LIMIT {rows}"
    sql = f"COPY ({chosen}) TO STDOUT (FORMAT binary)"
    with connection.cursor().copy(sql) as copy:
        return b"".join(copy)


def _copy_and_index(connection: Connect, rows: bytes) -> None:
    connection.execute(
        "CREATE TABLE recall.speed_copy "
        "(LIKE recall.memory INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING IDENTITY)"
    )
    with connection.cursor().copy(f"COPY recall.speed_copy ({_STORED}) FROM STDIN (FORMAT binary)") as copy:
        copy.write(rows)
    for (definition,) in connection.execute(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'recall' AND tablename = 'memory'"
    ).fetchall():
        head, tail = definition.split(" ON recall.memory ", 1)
        name = head.rsplit(" ", 1)[1]
        connection.execute(f"{head.replace(name, 'speed_' + name)} ON recall.speed_copy {tail}")


def _remember_all(connection: Connect, batches: Sequence[tuple[str, str | None]]) -> None:
    for items, embedder in batches:
        connection.execute("SELECT recall.remember_many(%s::jsonb, %s)", (items, embedder))
