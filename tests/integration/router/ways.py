"""One call two ways: in the cell, and through the router. Both are rolled back, and numbers begin again."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.attack.calls import Attack
from tests.attack.test_functions import CLOCK, CURSOR

_SEQUENCES = (
    "SELECT format('SELECT setval(%L, %s, %L)', format('%I.%I', schemaname, sequencename), "
    "coalesce(last_value, start_value), last_value IS NOT NULL) FROM pg_sequences WHERE schemaname = 'recall'"
)


class Numbers:
    """The sequences of a cell, as they were."""

    def __init__(self, admin: psycopg.Connection[Any]) -> None:
        self._admin = admin
        self._reset = b"; ".join(row[0].encode() for row in admin.execute(_SEQUENCES).fetchall())

    def begin_again(self) -> None:
        self._admin.execute(self._reset)


def through_router(attack: Attack, tenant: str) -> Attack:
    """The same call of the wrapper, for a tenant."""
    assert isinstance(attack.parameters, tuple)
    name = f"recall.{attack.function}("
    rest = attack.sql.partition(name)[2]
    comma = "" if rest.startswith(")") else ", "
    sql = f"SELECT * FROM recall_router.{attack.function}(p_tenant => %s{comma}{rest}"
    return Attack(attack.function, sql, (tenant, *attack.parameters))


def told_by(connection: psycopg.Connection[Any], attack: Attack) -> str:
    """Rows or error of a call, without what no two calls have in common. Nothing stays of it."""
    try:
        with connection.transaction(force_rollback=True):
            cursor = connection.execute(attack.sql.encode(), attack.parameters)
            outcome = repr(cursor.fetchall())
    except psycopg.Error as error:
        found = error.diag
        outcome = f"{error.sqlstate} {found.message_primary} {found.message_detail} {found.message_hint}"
    return CURSOR.sub("C", CLOCK.sub("T", outcome))
