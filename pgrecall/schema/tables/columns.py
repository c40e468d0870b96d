"""Columns and keys that many tables share."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Column, DateTime, ForeignKeyConstraint, text

SCHEMA = "recall"


def moment(name: str, *, nullable: bool = True, default: bool = False) -> Column[datetime]:
    """A timestamp with time zone; with ``default`` it is the transaction's time."""
    return Column(
        name,
        DateTime(timezone=True),
        nullable=nullable,
        server_default=text("now()") if default else None,
    )


def owned_by_memory(name: str, column: str = "memory_id") -> ForeignKeyConstraint:
    """A key to a memory of the same tenant; the row goes when the memory goes."""
    return ForeignKeyConstraint(
        ["tenant", column], ["recall.memory.tenant", "recall.memory.id"], name=name, ondelete="CASCADE"
    )
