"""Transactions that Postgres ends by a setting: the error names it."""

from __future__ import annotations

import psycopg
import pytest

from pgrecall.database.error_translation import translated

SETTINGS = {
    "25P03": "idle_in_transaction_session_timeout",
    "25P04": "transaction_timeout",
    "55P03": "lock_timeout",
    "57014": "statement_timeout",
}


@pytest.mark.parametrize("state", SETTINGS)
def test_a_transaction_that_postgres_ends_names_the_setting(state: str) -> None:
    error = translated(psycopg.errors.lookup(state)("terminating connection"))
    assert "nothing was changed: terminating connection." in error.message
    assert f"raise {SETTINGS[state]} for this role" in error.hint
