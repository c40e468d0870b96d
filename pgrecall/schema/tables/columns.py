"""Columns, keys and indexes that many tables share."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, DateTime, ForeignKeyConstraint, Index, TextClause, text

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


def index_where(
    where: str, name: str, *columns: str | ColumnElement[Any] | TextClause, **options: Any
) -> Index:
    """An index of the rows for which a condition holds."""
    return Index(name, *columns, postgresql_where=text(where), **options)
