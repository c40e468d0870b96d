"""The tables of vectors: one that small tenants share; large ones have tables like it
(``functions/04_vectors/02_own_tables.sql``).

No foreign key to ``memory``, which would be checked in each of those tables. A trigger deletes vectors.
"""

from __future__ import annotations

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Identity,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, BIT

from pgrecall.schema.tables.columns import SCHEMA, owned_by_memory
from pgrecall.schema.tables.rules import rules

MAX_COVERED = 1250
"""Dimensions of half precision that fit into an entry of a B-tree, with the tenant's name."""


def add(metadata: MetaData, dimensions: int) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _vector_shared(metadata, dimensions)
    _vector_home(metadata)
    _token_signs(metadata)


def _vector_shared(metadata: MetaData, dimensions: int) -> Table:
    # A tenant's rows lie scattered over the table, and side by side in this index, all that a search reads.
    held = ["embedding"] if dimensions <= MAX_COVERED else []
    return Table(
        "vector_shared",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("archived", Boolean, nullable=False, server_default=text("false")),
        Column("embedding", HALFVEC(dimensions), nullable=False),
        # 0: the vector of the memory as a whole. From 1: one of its passages, these characters of its body.
        Column("part", SmallInteger, nullable=False, server_default=text("0")),
        Column("passage_start", Integer),
        Column("passage_end", Integer),
        PrimaryKeyConstraint("tenant", "memory_id", "part", name="vector_shared_pkey"),
        Index("vector_shared_idx", "tenant", "archived", "memory_id", postgresql_include=held),
        schema=SCHEMA,
    )


def _vector_home(metadata: MetaData) -> Table:
    """The tenants with their own table, named ``vector_`` and a number, which does not reveal the tenant."""
    return Table(
        "vector_home",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("number", BigInteger, Identity(always=True), nullable=False),
        PrimaryKeyConstraint("tenant", name="vector_home_pkey"),
        Index("vector_home_number_idx", "number", unique=True),
        schema=SCHEMA,
    )


def _token_signs(metadata: MetaData) -> Table:
    """The signs of a memory's token states, made by the embedder ``model``."""
    return Table(
        "token_signs",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("model", Text, nullable=False),
        Column("signs", ARRAY(BIT(varying=True)), nullable=False),
        PrimaryKeyConstraint("tenant", "memory_id", name="token_signs_pkey"),
        owned_by_memory("token_signs_memory_fkey"),
        *rules("token_signs"),
        schema=SCHEMA,
    )
