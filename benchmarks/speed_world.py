"""What speed is measured on: ten tenants of very different sizes, with texts, vectors, names, links and uses.

A world is built once for each size and kept; a run works on a copy of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from benchmarks.speed_sentences import Vectors, embedded, mixed, sentences
from benchmarks.upkeep_data import DAYS, STILL_DAYS, TENANT, Bench, fill_use
from pgrecall.search.embedding import Embedder

SHARES = (80, 8, 4.5, 3, 2, 1, 0.7, 0.4, 0.3, 0.1)
"""Per cent of all memories that each tenant holds, the largest first."""
NAMES = 4000
"""Entities of the largest tenant, of whatever size: names grow with what is known, not with what happens."""
ASKED = 400
"""Sentences that are asked for and in no memory."""
_BLOCK = 5_000
_TEXTS = {
    "memory": "", "tenant": "text", "id": "int8", "layer": "text", "title": "text", "body": "text",
    "created_at": "timestamptz", "updated_at": "timestamptz", "embedded_with": "text",
}  # fmt: skip
_VECTORS = {"vector_shared": "", "tenant": "text", "memory_id": "int8", "embedding": "halfvec"}
"""A table, and its columns with their types."""
_LAYERS = ("knowledge", "knowledge", "knowledge", "episodic", "episodic", "activity")


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant, and which ids its memories have: ``first`` and the ``size`` - 1 after it."""

    name: str
    first: int
    size: int


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: some words, and the vector of the sentence they begin."""

    text: str
    vector: str


def tenants(memories: int) -> list[Tenant]:
    """The tenants of a world of so many memories; the first is the one that upkeep is measured on."""
    sizes = [round(memories * share / 100) for share in SHARES]
    firsts = [1, *(1 + end for end in accumulate(sizes[:-1]))]
    names = [TENANT, *(f"tenant {place}" for place in range(2, len(SHARES) + 1))]
    return [Tenant(*made) for made in zip(names, firsts, sizes, strict=True)]


def sentences_for(memories: int) -> list[str]:
    """What memories are made of: so many that each is said about thirty times."""
    return sentences(min(max(memories // 16, 4_000), 24_000))


def questions(embedder: Embedder, cache: Path) -> list[Question]:
    """Sentences that no memory holds, of which the first ten words are asked."""
    texts = sentences(ASKED)
    vectors = embedded(texts, embedder, cache)
    return [
        Question(" ".join(text.split()[:10]), HalfVector(vector).to_text())
        for text, vector in zip(texts, vectors, strict=True)
    ]


def names_of(first: int, count: int) -> list[str]:
    """Different names of two words, as people's are."""
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
    """Fills an initialised database; the tenants' memories lie among each other, as they would have come."""
    known = sentences_for(memories)
    said, vectors = known[ASKED:], embedded(known, embedder, cache)[ASKED:]
    with psycopg.connect(url, autocommit=True) as connection:
        register_vector(connection)
        row = connection.execute("SELECT now()").fetchone()
        assert row is not None
        bench = Bench(url, connection, memories, row[0])
        bench.run("SELECT setseed(0.5)")
        bench.run("SELECT recall.make_access_partitions(%(since)s, 15)", since=bench.now - timedelta(DAYS))
        _copy_memories(bench, memories, said, vectors, embedder.name)
        bench.settle("memory", "vector_shared")
        for tenant in tenants(memories):
            fill_use(bench, tenant.name, tenant.first, tenant.size)
            bench.run("SELECT set_config('recall.tenant', %(tenant)s, false)", tenant=tenant.name)
            bench.run("SELECT recall.refresh_lexemes(), recall.house_vectors()")
        bench.run("SELECT setval(pg_get_serial_sequence('recall.memory', 'id'), %(last)s)", last=memories)
        bench.run("SELECT recall.require_embedder(%(name)s)", name=embedder.name)
        bench.run("VACUUM (ANALYZE)")


def _copy_memories(
    bench: Bench, memories: int, said: Sequence[str], vectors: Vectors, embedded_with: str
) -> None:
    dice = np.random.default_rng(7)
    order = dice.permutation(memories)
    holders = tenants(memories)
    bounds = np.array([tenant.first + tenant.size - 1 for tenant in holders])
    titles = {tenant.name: names_of(tenant.first, _entities(tenant)) for tenant in holders}
    for start in range(0, memories, _BLOCK):
        ids = order[start : start + _BLOCK] + 1
        whose = [holders[place] for place in np.searchsorted(bounds, ids)]
        parts = _parts(len(ids), len(said), dice)
        _copy(bench, _TEXTS, (
            (tenant.name, id_, *_kind(id_ - tenant.first, titles[tenant.name]),
             " ".join(said[part] for part in row if part >= 0), at, at, embedded_with)
            for id_, tenant, row, at in zip(
                ids.tolist(), whose, parts.tolist(), _born(bench.now, len(ids), dice), strict=True)
        ))  # fmt: skip
        _copy(bench, _VECTORS, (
            (tenant.name, id_, HalfVector(vector))
            for id_, tenant, vector in zip(ids.tolist(), whose, mixed(vectors, parts, dice), strict=True)
        ))  # fmt: skip


def _copy(bench: Bench, columns: Mapping[str, str], rows: Iterable[Sequence[object]]) -> None:
    """Rows into the table named by the first column's key, in binary form."""
    (table, _), *named = columns.items()
    into = f"COPY recall.{table} ({', '.join(name for name, _ in named)}) FROM STDIN (FORMAT binary)"
    with bench.connection.cursor().copy(into) as copy:
        copy.set_types([kind for _, kind in named])
        for row in rows:
            copy.write_row(row)


def _kind(place: int, titles: Sequence[str]) -> tuple[str, str]:
    """Layer and title: the first memories of a tenant are its entities."""
    if place < len(titles):
        return "entity", titles[place]
    return _LAYERS[place % len(_LAYERS)], ""


def _entities(tenant: Tenant) -> int:
    return min(NAMES, tenant.size // 10)


def _parts(count: int, of: int, dice: np.random.Generator) -> npt.NDArray[np.int64]:
    """One to three sentences for each memory; -1 where it has fewer than three."""
    parts = dice.integers(0, of, (count, 3))
    parts[np.arange(3) >= dice.integers(1, 4, (count, 1))] = -1
    return parts


def _born(now: datetime, count: int, dice: np.random.Generator) -> Iterator[datetime]:
    span = timedelta(DAYS - STILL_DAYS).total_seconds()
    for seconds in dice.random(count) * span:
        yield now - timedelta(DAYS) + timedelta(seconds=float(seconds))


def move_tenant(source: str, target: str, tenant: Tenant) -> None:
    """Copies what a search reads of a tenant into an initialised database."""
    with psycopg.connect(source) as here, psycopg.connect(target, autocommit=True) as there:
        for table in ("memory", "activation", "link", "lexeme", "layer_median"):
            columns = _stored_columns(here, table)
            rows = f"SELECT {columns} FROM recall.{table} WHERE tenant = '{tenant.name}'"
            _pour(here, rows, there, f"{table} ({columns})")
        vectors = f"SELECT '{tenant.name}', id, embedding FROM recall.vectors_of('{tenant.name}', NULL)"
        _pour(here, vectors, there, "vector_shared (tenant, memory_id, embedding)")
        known = here.execute("SELECT recall.setting_of('*', 'embedding.model') #>> '{}'").fetchone()
        there.execute("SELECT recall.require_embedder(%s)", known)
        there.execute("SELECT set_config('recall.tenant', %s, false)", (tenant.name,))
        there.execute("VACUUM (ANALYZE)")
        there.execute("SELECT recall.house_vectors()")
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
