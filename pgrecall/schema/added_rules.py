"""What an upgrade says of rows that break a rule which a revision adds."""

from __future__ import annotations

import re

import psycopg
from alembic import op
from sqlalchemy import exc

from pgrecall.errors import SchemaMismatch


def add_rules(statements: str) -> None:
    """Executes the statements of a revision, which add constraints and after each table their sentences.

    Raises:
        SchemaMismatch: rows break one; it says which, how many, and how to find them.
    """
    bind = op.get_bind()
    try:
        with bind.begin_nested():
            op.execute(statements)
    except exc.IntegrityError as error:
        if not isinstance(error.orig, psycopg.errors.CheckViolation):
            raise
        rule = error.orig.diag.constraint_name
        added = re.search(rf"ADD CONSTRAINT {rule} CHECK \((.*?)\)[,;]\n", statements, re.DOTALL)
        said = re.search(rf"COMMENT ON CONSTRAINT {rule} ON (\S+) IS '(.*)';\n", statements)
        if added is None or said is None:  # an older rule, or one of the user's own
            raise
        found = f"FROM {said[1]} WHERE NOT ({' '.join(added[1].split())})"
        number = bind.exec_driver_sql(f"SELECT count(*) {found}").scalar_one()
        raise SchemaMismatch(
            f"Rows of {said[1]} break a rule of this version ({number:,}): {said[2]}. Nothing was changed.",
            hint=f"Correct or delete them as an owner of the table, then upgrade: SELECT * {found}.",
        ) from error
