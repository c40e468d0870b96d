"""The two schemas, and the names that they have while a restore replaces them."""

from __future__ import annotations

from collections.abc import Collection

from pgrecall.errors import SchemaMismatch

ASIDE = {"recall": "recall_before_restore", "recall_private": "recall_private_before_restore"}
"""By the name of each schema, the one that it has while it is set aside."""


def brought_back(schemas: Collection[str]) -> str:
    """The SQL that gives those of these schemas that are set aside their names again."""
    return " ".join(
        f"ALTER SCHEMA {aside} RENAME TO {name};" for name, aside in ASIDE.items() if aside in schemas
    )


def refuse_remains(schemas: Collection[str]) -> None:
    """Refuses a database in which somebody dropped the schema recall alone.

    Raises:
        SchemaMismatch: its functions are left; the hint removes them.
    """
    if "recall_private" in schemas and "recall" not in schemas:
        raise SchemaMismatch(
            "This database has the schema recall_private, and recall, which it belongs to, is gone.",
            hint="It holds functions only: DROP SCHEMA recall_private CASCADE;",
        )
