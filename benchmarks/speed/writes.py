"""The cost of storing: one memory compared with a bare INSERT, an import with COPY and indexes built later.

The floors store what any design must: the text, its vector and its summary; the import also the first entry
of its log. Their tables have the same columns (also generated ones), constraints and indexes; the bare INSERT
is one statement into the real tables, with their triggers and keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from statistics import median
from typing import Any

from benchmarks.harness import Goal, Row, interleaved, seconds
from benchmarks.speed.search import Connect, act_for, home_of
from benchmarks.speed.world import Question, Tenant
from pgrecall.nouns.imports.batches import PLAIN_BATCH

NEW = "a new tenant"
"""A tenant that is empty when a measurement begins."""

_REMEMBER = (
    "SELECT recall.remember(%(text)s, p_embedding => %(vector)s::halfvec, p_embedded_with => %(embedder)s)"
)
_INSERT = """
WITH stored AS (
    INSERT INTO recall.memory (tenant, layer, body, embedded_with)
    VALUES (%(tenant)s, 'knowledge', %(text)s, %(embedder)s) RETURNING id, created_at
), embedded AS (
    INSERT INTO recall.{} (tenant, memory_id, embedding)
    SELECT %(tenant)s, id, %(vector)s::halfvec FROM stored
)
INSERT INTO recall.activation (tenant, memory_id, n, first_at, t1, folded_until, decay, clock)
SELECT %(tenant)s, id, 1, date_part('epoch', created_at), date_part('epoch', created_at), created_at, 0.5, 1
FROM stored
"""
_GIVEN = "FROM recall.memory m WHERE m.tenant = '{}' AND m.title = '' ORDER BY m.id LIMIT {}"
_COPIED = {
    "memory": ("tenant, layer, title, body, created_at, updated_at", "recall.memory t USING (tenant, id)"),
    "activation": (
        "tenant, memory_id, n, first_at, t1, folded_until, decay, clock",
        "recall.activation t ON (t.tenant, t.memory_id) = (m.tenant, m.id)",
    ),
    "access": (
        "tenant, memory_id, kind, weight, at, recorded_at",
        "recall.access t ON (t.tenant, t.memory_id) = (m.tenant, m.id) AND t.kind = 'write'",
    ),
}
"""Columns of the tables that an import without vectors fills, and the source of their rows."""


def one(
    connection: Connect, asked: Sequence[Question], tenant: Tenant, embedder: str, calls: int
) -> Iterator[Row]:
    """One memory with its vector, compared with bare rows in the same tables, indexes and triggers."""
    for name, whose in ((tenant.name, "the largest tenant"), (NEW, NEW)):
        act_for(connection, name)
        given = {"tenant": name, "embedder": embedder}
        store = partial(_storing, connection, asked, given)
        bare, whole = interleaved([store(_INSERT.format(home_of(connection, name))), store(_REMEMBER)], calls)
        yield Row(
            f"one remember, embedding given, {whose}",
            "bare INSERT, same indexes", whole * 1e3, bare * 1e3, "ms", Goal(1.3),
        )  # fmt: skip


def _storing(
    connection: Connect, asked: Sequence[Question], given: Mapping[str, str], sql: str
) -> Callable[[], object]:
    numbers = count()

    def store() -> None:
        number = next(numbers)
        question = asked[number % len(asked)]
        said = {"text": f"{question.text} {number}", "vector": question.vector}
        connection.execute(sql, {**given, **said}, prepare=True)

    return store


def bulk(connection: Connect, tenant: Tenant, rows: int, rounds: int) -> Iterator[Row]:
    """Many memories at once, compared with COPY into bare copies of the same tables."""
    rows = min(rows, tenant.size)
    plain = _copied(connection, tenant, rows)
    home = home_of(connection, tenant.name)
    drafts, vectors = _drafts(connection, tenant, rows), {home: _vectors(connection, home, rows)}
    bare = [{name: draft[name] for name in ("body", "layer")} for draft in drafts]
    for what, whom, copied, given in (
        ("without vectors, new tenants", None, plain, bare),
        ("without vectors, the largest tenant", tenant.name, plain, bare),
        ("with vectors, new tenants", None, {**plain, **vectors}, drafts),
    ):
        floors, taken = [], []
        for turn in range(rounds):
            floors.append(sum(_copy_seconds(connection, table, *held) for table, held in copied.items()))
            act_for(connection, whom or f"{what} {turn}")
            taken.append(seconds(partial(_remember_all, connection, given)))
        yield Row(
            f"import of {len(given):,} memories {what}",
            "COPY, indexes built after", median(taken), median(floors), "s", Goal(2.5),
        )  # fmt: skip


def _copied(connection: Connect, tenant: Tenant, rows: int) -> dict[str, tuple[str, bytes]]:
    given = f"(SELECT m.tenant, m.id {_GIVEN.format(tenant.name, rows)}) m"
    return {
        table: (columns, _binary(connection, f"SELECT {_listed(columns)} FROM {given} JOIN {there}"))
        for table, (columns, there) in _COPIED.items()
    }


def _listed(columns: str) -> str:
    return ", ".join(f"t.{column}" for column in columns.split(", "))


def _vectors(connection: Connect, home: str, rows: int) -> tuple[str, bytes]:
    columns = "tenant, memory_id, archived, embedding"
    return columns, _binary(connection, f"SELECT {columns} FROM recall.{home} LIMIT {rows}")


def _binary(connection: Connect, query: str) -> bytes:
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT binary)") as copy:
        return b"".join(copy)


def _drafts(connection: Connect, tenant: Tenant, rows: int) -> list[dict[str, Any]]:
    found = connection.execute(
        f"SELECT m.body, m.layer, v.embedding::text FROM (SELECT m.* {_GIVEN.format(tenant.name, rows)}) m "
        f"JOIN recall.{home_of(connection, tenant.name)} v ON v.tenant = m.tenant AND v.memory_id = m.id"
    )
    return [dict(zip(("body", "layer", "embedding"), row, strict=True)) for row in found]


def _copy_seconds(connection: Connect, table: str, columns: str, rows: bytes) -> float:
    """Seconds to fill a table like this one and build its indexes; the table is dropped."""
    connection.execute(
        f"CREATE TABLE recall.speed_copy (LIKE recall.{table} INCLUDING DEFAULTS INCLUDING GENERATED "
        "INCLUDING IDENTITY INCLUDING CONSTRAINTS)"
    )
    taken = seconds(partial(_copy_and_index, connection, table, columns, rows))
    connection.execute("DROP TABLE recall.speed_copy")
    return taken


def _copy_and_index(connection: Connect, table: str, columns: str, rows: bytes) -> None:
    with connection.cursor().copy(f"COPY recall.speed_copy ({columns}) FROM STDIN (FORMAT binary)") as copy:
        copy.write(rows)
    definitions = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'recall' AND tablename = %s"
    for (definition,) in connection.execute(definitions, (table,)).fetchall():
        head, tail = definition.replace(" ON ONLY ", " ON ").split(f" ON recall.{table} ", 1)
        kind, name = head.rsplit(" ", 1)
        connection.execute(f"{kind} speed_{name} ON recall.speed_copy {tail}")


def _remember_all(connection: Connect, drafts: Sequence[Mapping[str, Any]]) -> None:
    known = connection.execute(
        "SELECT recall_private.setting_value('*', 'embedding.model') #>> '{}'"
    ).fetchone() or ("",)
    embedder = known[0] if "embedding" in drafts[0] else None
    for start in range(0, len(drafts), PLAIN_BATCH):
        items = json.dumps(drafts[start : start + PLAIN_BATCH])
        connection.execute("SELECT recall.remember_many(%s::jsonb, %s)", (items, embedder))
    connection.execute("SELECT recall.move_vectors_to_own_table()")
