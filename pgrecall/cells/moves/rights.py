"""The rights and settings that a move needs: no superuser, but more than to administer one cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pgrecall.cells.cell import Cell
from pgrecall.cells.statements import named_statements
from pgrecall.errors import DatabaseUnsuitable
from pgrecall.schema.roles import quoted

_SQL = named_statements("moves/rights.sql")

End = Literal["source", "target"]


@dataclass(frozen=True, slots=True)
class MissingRight:
    """What is missing, as a sentence, and how to solve it."""

    message: str
    fix: str


def missing_rights(cell: Cell, end: End) -> tuple[MissingRight, ...]:
    """Lists what the role of the cell's URL and its server lack for this end of a move."""
    with cell.connected() as connection:
        row = connection.execute(_SQL["rights"].encode()).fetchone()
        # Without superuser, a role can only create a subscription with a password that the server requires.
        by_password = connection.pgconn.used_password
    assert row is not None
    role, owner, database = (quoted(row[name]) for name in ("role", "owner", "database"))
    found = []
    if end == "source" and row["wal_level"] != "logical":
        found.append(
            MissingRight(
                f"The server has wal_level {row['wal_level']}; moving needs logical.",
                "ALTER SYSTEM SET wal_level = 'logical', or the setting of the provider; then a restart",
            )
        )
    if not row["as_owner"]:
        found.append(
            MissingRight(
                f"Role {role} does not have the rights of {owner}, the owner of the tables.",
                f"GRANT {owner} TO {role} WITH INHERIT TRUE, SET TRUE",
            )
        )
    if not row["may_create"]:
        found.append(
            MissingRight(
                f"Role {role} may not create in the database {database}.",
                f"GRANT CREATE ON DATABASE {database} TO {role}",
            )
        )
    if end == "source" and not row["may_replicate"]:
        fix = f"GRANT rds_replication TO {role}" if row["on_rds"] else f"ALTER ROLE {role} REPLICATION"
        found.append(MissingRight(f"Role {role} may not replicate.", fix))
    if end == "source" and not row["superuser"] and not by_password:
        found.append(
            MissingRight(
                f"Role {role} logs in without a password, but its subscription needs one.",
                "set a password in PGRECALL_CELLS, and scram-sha-256 for its connections in pg_hba.conf",
            )
        )
    if end == "target" and not row["may_subscribe"]:
        found.append(
            MissingRight(f"Role {role} may not subscribe.", f"GRANT pg_create_subscription TO {role}")
        )
    return tuple(found)


def require_rights(cell: Cell, end: End) -> None:
    """Raises for the first thing that is missing.

    Raises:
        DatabaseUnsuitable: something is missing; names it and the remedy.
    """
    for missing in missing_rights(cell, end):
        raise DatabaseUnsuitable(
            f"In the {end} cell: {missing.message}",
            hint=f"{missing.fix}. `pgrecall cell check` shows all that is missing. Without logical "
            "replication, export the tenant and import it: docs/howto/scale.md.",
        )
