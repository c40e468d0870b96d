"""The tables of plans: what a plan would change, or an import changed, item by item."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from pgrecall.schema.tables.columns import SCHEMA, moment, owned_by_memory
from pgrecall.schema.tables.rules import rules


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _plan(metadata)
    _plan_item(metadata)
    _redacted_text(metadata)


def _plan(metadata: MetaData) -> Table:
    """A stored plan to review; ``report`` has what was found, or the effects of the whole plan."""
    return Table(
        "plan",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("kind", Text, nullable=False),
        Column("state", Text, nullable=False, server_default=text("'planned'")),
        moment("created_at", nullable=False),
        moment("applied_at"),
        moment("undone_at"),
        Column("options", JSONB, nullable=False),
        Column("report", JSONB, nullable=False),
        PrimaryKeyConstraint("tenant", "id", name="plan_pkey"),
        CheckConstraint("kind IN ('prune', 'dedupe', 'redact', 'import')", name="plan_kind_check"),
        CheckConstraint("state IN ('planned', 'applied', 'undone')", name="plan_state_check"),
        CheckConstraint("(applied_at IS NULL) = (state = 'planned')", name="plan_applied_check"),
        CheckConstraint("(undone_at IS NOT NULL) = (state = 'undone')", name="plan_undone_check"),
        schema=SCHEMA,
    )


def _plan_item(metadata: MetaData) -> Table:
    """A memory of a plan: one that a prune plan archives, one of a cluster of duplicates, one with secrets,
    or one that an import changed."""
    return Table(
        "plan_item",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("plan_id", BigInteger, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        # In the order of the plan; of a dedupe plan that of its cluster.
        Column("place", Integer, nullable=False),
        Column("vitality", Double, nullable=False),
        Column("reason", Text, nullable=False),
        # Apply compares it, to skip a memory with a new text.
        Column("content_hash", Text),
        Column("outcome", Text),
        Column("note", Text),
        # Of a prune plan: the terms of the vitality, and the links that end.
        Column("terms", JSONB),
        Column("impact", JSONB),
        # Of a dedupe plan: whether it stays, and its similarity to the one that does.
        Column("keeper", Boolean),
        Column("similarity", Double),
        # Of a keeper, as it was before: what a merge adds to, and undo takes away again.
        Column("added_tags", ARRAY(Text)),
        Column("added_aliases", ARRAY(Text)),
        moment("updated_before"),
        moment("folded_before"),
        Column("sessions_before", Double),
        Column("sessions_at_before", Double),
        # Of an import: what undo gives back and versions do not hold, and in `after` what it left.
        Column("before", JSONB),
        # Of a redact plan: where secrets are and of what kind, never what they are.
        Column("findings", JSONB),
        PrimaryKeyConstraint("tenant", "plan_id", "memory_id", name="plan_item_pkey"),
        _of_plan("plan_item_plan_fkey"),
        owned_by_memory("plan_item_memory_fkey"),
        *_item_checks(),
        *rules("plan_item"),
        Index("plan_item_memory_idx", "tenant", "memory_id"),
        schema=SCHEMA,
    )


def _redacted_text(metadata: MetaData) -> Table:
    """What a redact plan took out of a memory, kept for undo. No function shows it, and no export has it."""
    return Table(
        "redacted_text",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("plan_id", BigInteger, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("taken", JSONB, nullable=False),
        PrimaryKeyConstraint("tenant", "plan_id", "memory_id", name="redacted_text_pkey"),
        _of_plan("redacted_text_plan_fkey"),
        owned_by_memory("redacted_text_memory_fkey"),
        Index("redacted_text_memory_idx", "tenant", "memory_id"),
        schema=SCHEMA,
    )


def _of_plan(name: str) -> ForeignKeyConstraint:
    """A key to a plan; the row goes when the plan goes."""
    return ForeignKeyConstraint(
        ["tenant", "plan_id"], ["recall.plan.tenant", "recall.plan.id"], name=name, ondelete="CASCADE"
    )


def _item_checks() -> tuple[CheckConstraint, ...]:
    return (
        CheckConstraint(
            "outcome IN ('archived', 'kept', 'merged', 'redacted', 'skipped', 'created', 'changed')",
            name="plan_item_outcome_check",
        ),
        CheckConstraint("(note IS NOT NULL) = (outcome = 'skipped')", name="plan_item_note_check"),
        CheckConstraint(
            "num_nulls(terms, impact) = "
            "CASE WHEN num_nonnulls(keeper, before, findings) = 0 THEN 0 ELSE 2 END",
            name="plan_item_kind_check",
        ),
    )
