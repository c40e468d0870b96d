"""The data for speed: ten tenants of very different sizes, with texts, vectors, names, links and accesses.

A world is created once for each size and kept; a run works on a copy of it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from pgvector import HalfVector

from benchmarks.maintenance.data import DAYS, STILL_DAYS, TENANT, Bench, fill_log, fill_summaries
from benchmarks.speed.bulk_copy import Connect, copy_rows, copy_vectors, indexed_after, vector_rows
from benchmarks.speed.sentences import Vectors, embedded, mixed, sentences
from pgrecall.search.embed.embedder import Embedder

SHARES = (80, 8, 4.5, 3, 2, 1, 0.7, 0.4, 0.3, 0.1)
"""Per cent of all memories in each tenant, largest first."""
NAMES = 4000
"""Entities of the largest tenant of any size: names grow with knowledge, not with events."""
ASKED = 400
"""Sentences that are queries and in no memory."""
SHARED = 4_000
"""Up to so many vectors stay in the shared table, as in recall.move_vectors_to_own_table."""
_BLOCK = 10_000
_TEXTS = {
    "tenant": "text", "id": "int8", "layer": "text", "title": "text", "body": "text",
    "created_at": "timestamptz", "updated_at": "timestamptz", "embedded_with": "text",
}  # fmt: skip
_LAYERS = ("knowledge", "knowledge", "knowledge", "episodic", "episodic", "activity")


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant with the ids of its memories: ``first`` and the ``size`` - 1 after it."""

    name: str
    first: int
    size: int

    def ids(self) -> npt.NDArray[np.int64]:
        return np.arange(self.first, self.first + self.size)


@dataclass(frozen=True, slots=True)
class Question:
    """A query: some words, and the vector of the sentence that they begin."""

    text: str
    vector: str


def tenants(memories: int) -> list[Tenant]:
    """The tenants of a world of so many memories; maintenance is measured on the first."""
    sizes = [round(memories * share / 100) for share in SHARES]
    firsts = [1, *(1 + end for end in accumulate(sizes[:-1]))]
    names = [TENANT, *(f"tenant {place}" for place in range(2, len(SHARES) + 1))]
    return [Tenant(*made) for made in zip(names, firsts, sizes, strict=True)]


def sentences_for(memories: int, cache: Path) -> list[str]:
    """The sentences that memories are composed of. Few, since embedding them takes longest."""
    return sentences(2_000 if memories <= 50_000 else 4_000 if memories <= 200_000 else 6_000, cache)


def questions(embedder: Embedder, cache: Path) -> list[Question]:
    """Sentences that no memory contains; their first ten words are queries."""
    texts = sentences(ASKED, cache)
    vectors = embedded(texts, embedder, cache)
    return [
        Question(" ".join(text.split()[:10]), HalfVector(vector).to_text())
        for text, vector in zip(texts, vectors, strict=True)
    ]


def names_of(first: int, count: int) -> list[str]:
    """Different names of two words, like those of people."""
    dice = random.Random(first)
    made: dict[str, None] = {}
    while len(made) < count:
        made[f"{_word(dice)} {_word(dice)}"] = None
    return list(made)


def _word(dice: random.Random) -> str:
    syllables = dice.randint(2, 3)
    return "".join(
        dice.choice("bdfgklmnprstvw") + dice.choice("aeiou") for _ in range(syllables)
    ).capitalize()


def build(url: str, memories: int, embedder: Embedder, cache: Path) -> None:
    """Fills an initialised database. Memories of tenants are interleaved, as they would arrive.

    The indexes of the vectors are built concurrently with the rest.
    """
    known = sentences_for(memories, cache)
    vectors = embedded(known, embedder, cache)[ASKED:]
    parts = _parts(memories, len(vectors), np.random.default_rng(7))
    with (
        ThreadPoolExecutor(1) as beside,
        psycopg.connect(url, autocommit=True) as connection,
        psycopg.connect(url, autocommit=True) as other,
    ):
        housed = beside.submit(_store_vectors, other, tenants(memories), parts, vectors)
        row = connection.execute("SELECT now()").fetchone()
        assert row is not None
        bench = Bench(url, connection, memories, row[0])
        _store_texts(bench, known[ASKED:], parts, embedder.name)
        _store_use(bench)
        housed.result()
        bench.run("SELECT recall_private.require_embedder(%(name)s)", name=embedder.name)
        bench.run("VACUUM (ANALYZE)")


def _store_vectors(
    connection: Connect, holders: Sequence[Tenant], parts: npt.NDArray[np.int64], sentences_: Vectors
) -> None:
    """Stores vectors, those of large tenants in tables of their own; the largest tenants come first."""
    connection.execute(f"SET max_parallel_maintenance_workers = {os.cpu_count()}")
    dice = np.random.default_rng(11)
    scattered: list[bytes] = []
    with indexed_after(connection, "recall.vector_shared"):
        for tenant in holders:
            for ids in np.array_split(tenant.ids(), 1 + tenant.size // _BLOCK):
                rows = vector_rows(tenant.name, ids, mixed(sentences_, parts[ids - 1], dice))
                if tenant.size <= SHARED:
                    scattered += rows
                else:
                    copy_vectors(connection, rows)
            if tenant.size > SHARED:
                act_for(connection, tenant.name)
                connection.execute("SELECT recall.move_vectors_to_own_table()")
                connection.execute("TRUNCATE recall.vector_shared")
        random.Random(7).shuffle(scattered)
        copy_vectors(connection, scattered)


def _store_texts(bench: Bench, said: Sequence[str], parts: npt.NDArray[np.int64], embedded_with: str) -> None:
    dice = np.random.default_rng(13)
    memories = len(parts)
    holders = tenants(memories)
    bounds = np.array([tenant.first + tenant.size - 1 for tenant in holders])
    titles = {tenant.name: names_of(tenant.first, _entities(tenant)) for tenant in holders}
    terms = _terms(memories, dice)
    with indexed_after(bench.connection, "recall.memory"):
        for ids in np.array_split(dice.permutation(memories) + 1, 1 + memories // _BLOCK):
            whose = [holders[place] for place in np.searchsorted(bounds, ids)]
            rows = zip(
                ids.tolist(), whose, parts[ids - 1].tolist(), terms[ids - 1].tolist(),
                _born(bench.now, len(ids), dice), strict=True,
            )  # fmt: skip
            copy_rows(bench.connection, "recall.memory", _TEXTS, (
                (tenant.name, id_, *_kind(id_ - tenant.first, titles[tenant.name]),
                 f"{' '.join(said[part] for part in row if part >= 0)} {_term(term)}", at, at, embedded_with)
                for id_, tenant, row, term, at in rows
            ))  # fmt: skip
        bench.run("SELECT setval(pg_get_serial_sequence('recall.memory', 'id'), %(last)s)", last=memories)
    bench.run("ANALYZE recall.memory")


def _store_use(bench: Bench) -> None:
    """Links, accesses and their counts, for each tenant."""
    bench.run("SELECT setseed(0.5)")
    bench.run("SELECT recall.make_access_partitions(%(since)s, 15)", since=bench.now - timedelta(DAYS))
    bench.run("SET session_replication_role = replica")  # rows here refer to rows there
    holders = tenants(bench.memories)
    with indexed_after(bench.connection, "recall.link", "recall.access"):
        for tenant in holders:
            fill_log(bench, tenant.name, tenant.first, tenant.size)
    bench.run("ANALYZE recall.access, recall.link")
    for tenant in holders:
        fill_summaries(bench, tenant.name)
    bench.run("RESET session_replication_role")
    for tenant in holders:
        act_for(bench.connection, tenant.name)
        bench.run("SELECT recall.refresh_lexemes()")


def act_for(connection: Connect, tenant: str) -> None:
    connection.execute("SELECT set_config('recall.tenant', %s, false)", (tenant,))


def _kind(place: int, titles: Sequence[str]) -> tuple[str, str]:
    """Layer and title; the first memories of a tenant are its entities."""
    if place < len(titles):
        return "entity", titles[place]
    return _LAYERS[place % len(_LAYERS)], ""


def _entities(tenant: Tenant) -> int:
    return min(NAMES, tenant.size // 10)


def _parts(count: int, of: int, dice: np.random.Generator) -> npt.NDArray[np.int64]:
    """One to three sentences for each memory; -1 for none."""
    parts = dice.integers(0, of, (count, 3))
    parts[np.arange(3) >= dice.integers(1, 4, (count, 1))] = -1
    return parts


def _terms(count: int, dice: np.random.Generator) -> npt.NDArray[np.int64]:
    """A term for each memory, the second half as frequent as the first. The number of different terms grows
    with the root of the number of memories (Heaps), so some are rare at every size."""
    ranks = np.exp(dice.random(count) * np.log(200 * isqrt(count)))
    return np.asarray(ranks, dtype=np.int64)


def _term(number: int) -> str:
    """A word of no language, different for each number below 343,000."""
    syllables = []
    for _ in range(3):
        number, syllable = divmod(number, 70)
        syllables.append("bdfgklmnprstvw"[syllable // 5] + "aeiou"[syllable % 5])
    return "".join(syllables) + "x"


def _born(now: datetime, count: int, dice: np.random.Generator) -> Iterator[datetime]:
    span = timedelta(DAYS - STILL_DAYS).total_seconds()
    for seconds in dice.random(count) * span:
        yield now - timedelta(DAYS) + timedelta(seconds=float(seconds))


def move_tenant(source: str, target: str, tenant: Tenant) -> None:
    """Copies a tenant's data for search into an initialised database."""
    with psycopg.connect(source) as here, psycopg.connect(target, autocommit=True) as there:
        for table in ("memory", "activation", "link", "lexeme", "layer_median"):
            columns = _stored_columns(here, table)
            rows = f"SELECT {columns} FROM recall.{table} WHERE tenant = '{tenant.name}'"
            _pour(here, rows, there, f"{table} ({columns})")
        vectors = (
            f"SELECT '{tenant.name}', id, embedding FROM recall_private.stored_vectors('{tenant.name}', NULL)"
        )
        _pour(here, vectors, there, "vector_shared (tenant, memory_id, embedding)")
        known = here.execute(
            "SELECT recall_private.setting_value('*', 'embedding.model') #>> '{}'"
        ).fetchone()
        there.execute("SELECT recall_private.require_embedder(%s)", known)
        there.execute("SELECT set_config('recall.tenant', %s, false)", (tenant.name,))
        there.execute("VACUUM (ANALYZE)")
        there.execute("SELECT recall.move_vectors_to_own_table()")
        there.execute("VACUUM (ANALYZE)")


def _pour(here: psycopg.Connection[Any], rows: str, there: psycopg.Connection[Any], into: str) -> None:
    with (
        here.cursor().copy(f"COPY ({rows}) TO STDOUT (FORMAT binary)") as read,
        there.cursor().copy(f"COPY recall.{into} FROM STDIN (FORMAT binary)") as write,
    ):
        for block in read:
            write.write(block)


def _stored_columns(connection: psycopg.Connection[Any], table: str) -> str:
    rows = connection.execute(
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_schema = 'recall' AND table_name = %s AND is_generated = 'NEVER' "
        "ORDER BY ordinal_position",
        (table,),
    ).fetchall()
    return ", ".join(f'"{name}"' for (name,) in rows)
