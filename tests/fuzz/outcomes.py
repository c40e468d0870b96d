"""What may come of a call, whatever it was given: an answer, or a refusal of ours in a sentence."""

from __future__ import annotations

import re
from typing import Any

import psycopg

OURS = {"22023", "P0002", "02000", "42501"}
"""Of refusals: a value that cannot be, something that is not there, something that one may not."""

STATEMENT_SECONDS = 20
"""More than anything takes that anybody could wait for."""

_RAISED = re.compile(r"PL/pgSQL function \S.* at RAISE$")


def outcome(
    connection: psycopg.Connection[Any], sql: str, parameters: tuple[Any, ...] | dict[str, Any]
) -> str:
    """``answered`` or ``refused``; what else comes is a defect, and raised. An error leaves no trace."""
    try:
        with connection.transaction():
            connection.execute(sql.encode(), parameters).fetchall()
    except psycopg.Error as error:
        if not is_refusal(error):
            raise
        return "refused"
    return "answered"


def is_refusal(error: psycopg.Error) -> bool:
    """Whether we refused, and said why in a sentence: not Postgres, somewhere deep inside."""
    first, *_ = (error.diag.context or "").splitlines() or [""]
    said = error.diag.message_primary or ""
    return error.sqlstate in OURS and _RAISED.search(first) is not None and said.endswith(".")
