"""What speed is measured on: ten tenants of very different sizes, with texts, vectors, names, links and uses.

A world is built once for each size and kept; a run works on a copy of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
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
_COLUMNS = (
    "tenant",
    "id",
    "layer",
    "title",
    "body",
    "created_at",
    "updated_at",
    "embedding",
    "embedded_with",
)
_LAYERS = ("knowledge", "knowledge", "knowledge", "episodic", "episodic", "activity")
_VECTOR_INDEX = "memory_embedding_live_idx"


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
        definition = _drop_vector_index(bench)
        _copy_memories(bench, memories, said, vectors, embedder.name)
        bench.run(definition)  # far quicker built than filled
        bench.settle("memory")
        for tenant in tenants(memories):
            fill_use(bench, tenant.name, tenant.first, tenant.size)
            bench.run("SELECT set_config('recall.tenant', %(tenant)s, false)", tenant=tenant.name)
            bench.run("SELECT recall.refresh_lexemes()")
        bench.run("SELECT setval(pg_get_serial_sequence('recall.memory', 'id'), %(last)s)", last=memories)
        bench.run("SELECT recall.require_embedder(%(name)s)", name=embedder.name)
        bench.run("VACUUM (ANALYZE)")


def _drop_vector_index(bench: Bench) -> str:
    definition = bench.value("SELECT indexdef FROM pg_indexes WHERE indexname = %(name)s", name=_VECTOR_INDEX)
    bench.run(f"DROP INDEX recall.{_VECTOR_INDEX}")
    return str(definition)


def _copy_memories(
    bench: Bench, memories: int, said: Sequence[str], vectors: Vectors, embedded_with: str
) -> None:
    dice = np.random.default_rng(7)
    order = dice.permutation(memories)
    holders = tenants(memories)
    bounds = np.array([tenant.first + tenant.size - 1 for tenant in holders])
    titles = {tenant.name: names_of(tenant.first, _entities(tenant)) for tenant in holders}
    copied = f"COPY recall.memory ({', '.join(_COLUMNS)}) FROM STDIN (FORMAT binary)"
    with bench.connection.cursor().copy(copied) as copy:
        copy.set_types(
            ["text", "int8", "text", "text", "text", "timestamptz", "timestamptz", "halfvec", "text"]
        )
        for start in range(0, memories, _BLOCK):
            ids = order[start : start + _BLOCK] + 1
            parts = _parts(len(ids), len(said), dice)
            born = _born(bench.now, len(ids), dice)
            for id_, row, vector, at in zip(
                ids.tolist(), parts.tolist(), mixed(vectors, parts, dice), born, strict=True
            ):
                tenant = holders[int(np.searchsorted(bounds, id_))]
                place = id_ - tenant.first
                entity = place < len(titles[tenant.name])
                copy.write_row(
                    (
                        tenant.name, id_, "entity" if entity else _LAYERS[place % len(_LAYERS)],
                        titles[tenant.name][place] if entity else "",
                        " ".join(said[part] for part in row if part >= 0), at, at,
                        HalfVector(vector), embedded_with,
                    )
                )  # fmt: skip


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
        definition = there.execute(
            "SELECT indexdef FROM pg_indexes WHERE indexname = %s", (_VECTOR_INDEX,)
        ).fetchone()
        assert definition is not None
        there.execute(f"DROP INDEX recall.{_VECTOR_INDEX}")
        for table in ("memory", "activation", "link", "lexeme", "layer_median"):
            columns = _stored_columns(here, table)
            rows = f"SELECT {columns} FROM recall.{table} WHERE tenant = '{tenant.name}'"
            with (
                here.cursor().copy(f"COPY ({rows}) TO STDOUT (FORMAT binary)") as read,
                there.cursor().copy(f"COPY recall.{table} ({columns}) FROM STDIN (FORMAT binary)") as write,
            ):
                for block in read:
                    write.write(block)
        there.execute(definition[0])
        (embedder,) = here.execute(
            "SELECT recall.setting_of('*', 'embedding.model') #>> '{}'"
        ).fetchone() or ("",)
        there.execute("SELECT recall.require_embedder(%s)", (embedder,))
        there.execute("VACUUM (ANALYZE)")


def _stored_columns(connection: psycopg.Connection[Any], table: str) -> str:
    rows = connection.execute(
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_schema = 'recall' AND table_name = %s AND is_generated = 'NEVER' "
        "ORDER BY ordinal_position",
        (table,),
    ).fetchall()
    return ", ".join(f'"{name}"' for (name,) in rows)
