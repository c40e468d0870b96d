"""The SQL statements of this package."""

from __future__ import annotations

from pgrecall.cells.statements import named_statements

STATEMENTS = named_statements("router/statements.sql")
