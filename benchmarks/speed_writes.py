"""What storing costs: one memory beside a bare INSERT, an import beside COPY with indexes built after."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from statistics import median
from typing import Any

import psycopg

from benchmarks.measure import Goal, Row, interleaved, seconds
from benchmarks.speed_world import Question, Tenant

Connect = psycopg.Connection[Any]

_REMEMBER = (
    "SELECT recall.remember(%(text)s, p_embedding => %(vector)s::halfvec, p_embedded_with => %(embedder)s)"
)
_INSERT = """
WITH stored AS (
    INSERT INTO recall.memory (tenant, layer, body, embedded_with)
    VALUES (%(tenant)s, 'knowledge', %(text)s, %(embedder)s) RETURNING id
)
INSERT INTO recall.{} (tenant, memory_id, embedding) SELECT %(tenant)s, id, %(vector)s::halfvec FROM stored
"""
_TEXTS = "tenant, layer, title, body, created_at, updated_at"
_VECTORS = "tenant, memory_id, archived, embedding"
_BATCH = 500


def one(connection: Connect, asked: Sequence[Question], tenant: Tenant, embedder: str, calls: int) -> Row:
    """One memory with its vector, and bare rows in the same tables, with all their indexes and triggers."""
    connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant.name,))
    numbers = count()

    def storing(sql: str) -> Callable[[], object]:
        def store() -> None:
            number = next(numbers)
            question = asked[number % len(asked)]
            given = {"text": f"{question.text} {number}", "vector": question.vector}
            connection.execute(sql, given | {"tenant": tenant.name, "embedder": embedder}, prepare=True)

        return store

    bare, whole = interleaved(
        [storing(_INSERT.format(_home(connection, tenant.name))), storing(_REMEMBER)], calls
    )
    return Row(
        "one remember, embedding given", "bare INSERT, same indexes", whole * 1e3, bare * 1e3, "ms", Goal(1.3)
    )


def _home(connection: Connect, tenant: str) -> str:
    (home,) = connection.execute("SELECT recall.vector_table(%s)", (tenant,)).fetchone() or ("",)
    return str(home)


def bulk(connection: Connect, tenant: Tenant, rows: int, rounds: int) -> Iterator[Row]:
    """Many memories at once, into tenants of their own, beside COPY into bare copies of the tables."""
    texts, vectors, drafts = _given(connection, tenant, min(rows, tenant.size))
    for with_vectors in (False, True):
        floors, taken = [], []
        for turn in range(rounds):
            floors.append(seconds(partial(_copy_and_index, connection, "memory", texts, _TEXTS)))
            if with_vectors:
                home = _home(connection, tenant.name)
                floors[-1] += seconds(partial(_copy_and_index, connection, home, vectors, _VECTORS))
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (f"{turn} {with_vectors}",))
            taken.append(seconds(partial(_remember_all, connection, drafts, with_vectors=with_vectors)))
        yield Row(
            f"import of {len(drafts):,} memories with{'' if with_vectors else 'out'} vectors",
            "COPY, indexes built after", median(taken), median(floors), "s", Goal(2.5),
        )  # fmt: skip


def _given(connection: Connect, tenant: Tenant, rows: int) -> tuple[bytes, bytes, list[dict[str, Any]]]:
    """Rows of the table of texts and of that of vectors in binary form, and the same as drafts."""
    some = f"FROM recall.memory WHERE tenant = '{tenant.name}' AND title = '' ORDER BY id LIMIT {rows}"
    found = connection.execute(
        f"SELECT t.body, t.layer, v.embedding::text FROM (SELECT * {some}) t "
        f"JOIN recall.{_home(connection, tenant.name)} v ON v.tenant = t.tenant AND v.memory_id = t.id"
    ).fetchall()
    drafts = [dict(zip(("body", "layer", "embedding"), row, strict=True)) for row in found]
    copied = []
    for columns, table in (
        (_TEXTS, f"(SELECT {_TEXTS} {some})"),
        (_VECTORS, f"(SELECT {_VECTORS} FROM recall.{_home(connection, tenant.name)} LIMIT {rows})"),
    ):
        with connection.cursor().copy(
            f"COPY (SELECT {columns} FROM {table} t) TO STDOUT (FORMAT binary)"
        ) as copy:
            copied.append(b"".join(copy))
    return copied[0], copied[1], drafts


def _copy_and_index(connection: Connect, table: str, rows: bytes, columns: str) -> None:
    connection.execute(
        f"CREATE TABLE recall.speed_copy "
        f"(LIKE recall.{table} INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING IDENTITY)"
    )
    with connection.cursor().copy(f"COPY recall.speed_copy ({columns}) FROM STDIN (FORMAT binary)") as copy:
        copy.write(rows)
    definitions = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'recall' AND tablename = %s"
    for (definition,) in connection.execute(definitions, (table,)).fetchall():
        head, tail = definition.split(f" ON recall.{table} ", 1)
        name = head.rsplit(" ", 1)[1]
        connection.execute(f"{head.replace(name, 'speed_' + name)} ON recall.speed_copy {tail}")
    connection.execute("DROP TABLE recall.speed_copy")


def _remember_all(connection: Connect, drafts: Sequence[dict[str, Any]], *, with_vectors: bool) -> None:
    embedder = None
    if with_vectors:
        (embedder,) = connection.execute(
            "SELECT recall.setting_of('*', 'embedding.model') #>> '{}'"
        ).fetchone() or ("",)
    else:
        drafts = [{name: value for name, value in draft.items() if name != "embedding"} for draft in drafts]
    for start in range(0, len(drafts), _BATCH):
        items = json.dumps(drafts[start : start + _BATCH])
        connection.execute("SELECT recall.remember_many(%s::jsonb, %s)", (items, embedder))
    connection.execute("SELECT recall.house_vectors()")
