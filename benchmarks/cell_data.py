"""The data for benchmarks of cells: a tenant with texts of random words, links, a log, and vectors.

All of it is made by COPY and by few statements, so that filling takes less time than what is measured. The
vectors lie around random centres, as those of texts do around topics.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import psycopg

from benchmarks.maintenance.data import DAYS, STILL_DAYS, Bench, fill_log, fill_summaries
from benchmarks.speed.bulk_copy import Connect, copy_rows, copy_vectors, indexed_after, vector_rows
from pgrecall.nouns.memories.models import Draft
from pgrecall.search.embed.embedder import HashEmbedder

DIMENSIONS = 384
CENTRES = 2000
_BLOCK = 10_000
_TEXTS = {
    "tenant": "text", "id": "int8", "layer": "text", "body": "text", "created_at": "timestamptz",
    "updated_at": "timestamptz", "embedded_with": "text",
}  # fmt: skip


def texts(count: int) -> Iterator[str]:
    """Texts of thirty random words."""
    chance = random.Random(1)
    words = [f"word{number}" for number in range(3000)]
    for _ in range(count):
        yield " ".join(chance.choices(words, k=30))


def drafts(count: int) -> Iterator[Draft]:
    for number, text in enumerate(texts(count)):
        yield Draft(text, key=f"m{number}")


def fill(url: str, tenant: str, memories: int, *, indexed: bool = True) -> None:
    """Fills a cell with a tenant that is placed there, as a superuser.

    Args:
        indexed: whether its vectors can be searched, which takes half of the time.
    """
    embedder = HashEmbedder(DIMENSIONS).name
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT now(), nextval('recall.memory_id_seq')").fetchone()
        assert row is not None
        bench, first = Bench(url, connection, memories, row[0]), row[1]
        bench.run("SELECT set_config('recall.tenant', %(tenant)s, false), setseed(0.5)", tenant=tenant)
        bench.run("SELECT recall.admit_tenant(), recall_private.require_embedder(%(name)s)", name=embedder)
        bench.run("SELECT recall.make_access_partitions(%(since)s, 15)", since=bench.now - timedelta(DAYS))
        _store_texts(bench, tenant, first, embedder)
        bench.run("SET session_replication_role = replica")  # keys are known to be there
        fill_log(bench, tenant, first, memories)
        bench.run("ANALYZE recall.access, recall.link")
        fill_summaries(bench, tenant)
        bench.run("RESET session_replication_role")
        _store_vectors(connection, tenant, first, memories, indexed=indexed)
        bench.run("SELECT recall.refresh_lexemes(), recall.refresh_statistics()")
        bench.run("VACUUM (ANALYZE)")


def _store_texts(bench: Bench, tenant: str, first: int, embedder: str) -> None:
    born = bench.now - timedelta(DAYS)
    step = timedelta(DAYS - STILL_DAYS) / bench.memories
    with indexed_after(bench.connection, "recall.memory"):
        copy_rows(bench.connection, "recall.memory", _TEXTS, (
            (tenant, first + place, "knowledge", text, born + place * step, born + place * step, embedder)
            for place, text in enumerate(texts(bench.memories))
        ))  # fmt: skip
    bench.run("SELECT setval('recall.memory_id_seq', %(last)s)", last=first + bench.memories)
    bench.run("ANALYZE recall.memory")


def _store_vectors(connection: Connect, tenant: str, first: int, memories: int, *, indexed: bool) -> None:
    """Vectors of length 1 in a table of the tenant's own."""
    dice = np.random.default_rng(7)
    centres = dice.standard_normal((CENTRES, DIMENSIONS), dtype=np.float32)
    row = connection.execute(_OWN_TABLE, (tenant,)).fetchone()
    assert row is not None
    [table] = row
    connection.execute("SELECT recall_private.make_vector_table(%s)", (table,))
    for ids in np.array_split(np.arange(first, first + memories), 1 + memories // _BLOCK):
        near = centres[dice.integers(0, CENTRES, len(ids))]
        vectors = near + 0.7 * dice.standard_normal(near.shape, dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        copy_vectors(connection, vector_rows(tenant, ids, vectors), table)
    if indexed:
        connection.execute("SELECT recall_private.index_vector_table(%s)", (table,))


_OWN_TABLE = "INSERT INTO recall.vector_home (tenant) VALUES (%s) RETURNING 'vector_' || number"
