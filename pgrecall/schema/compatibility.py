"""Whether a client of this version may use a schema of another version, as while cells are upgraded in turn.

What a client calls is in ``calls.json``: the declared functions of this version, generated from a database. A
schema of another version may be used if it has all of them, called in the same way and with the same results,
and if neither version declares that it cannot: :data:`OLDEST_SCHEMA`, and the comment on the function
``recall.installation``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

from pgrecall.database.connections import connect
from pgrecall.database.server import Row
from pgrecall.errors import SchemaMismatch
from pgrecall.schema.state import SchemaState, head_revision, is_current, require_current

OLDEST_SCHEMA = "0020"
"""The oldest revision that this version may use where its functions are called alike. Raise it to the newest
one when a function is called as before and means something else."""

CALLS = Path(__file__).with_name("calls.json")

DECLARED = (
    "SELECT p.proname AS name, coalesce((SELECT jsonb_agg(jsonb_build_array("
    "coalesce(p.proargnames[i], ''), format_type(p.proargtypes[i - 1], NULL)) ORDER BY i) "
    "FROM generate_series(1, p.pronargs) i), '[]') AS arguments, "
    "p.pronargs - p.pronargdefaults AS required, pg_get_function_result(p.oid) AS result "
    "FROM pg_proc p WHERE p.pronamespace = 'recall'::regnamespace AND p.proname = ANY (%(names)s::name[]) "
    "ORDER BY 1, 2, 4"
)
"""How functions are called: their arguments by name and type, how many have no default, and the result."""

_SERVED = (
    "SELECT obj_description(p.oid) AS said FROM pg_proc p "
    "WHERE p.pronamespace = 'recall'::regnamespace AND p.proname = 'installation'"
)


def require_usable(url: str, state: SchemaState, *, timeout: float = 10.0) -> None:
    """Rejects a schema that a client of this version cannot use.

    Raises:
        SchemaMismatch: not initialised, or of a version that does not go with this one; says why.
    """
    if is_current(state):
        return
    revision = state.revision
    if revision is None or not re.fullmatch(r"\d{4}", revision):
        require_current(state)
    with connect(url, timeout=timeout) as connection:
        reason = next(_reasons(connection, str(revision)), None)
    if reason is not None:
        fix = "Run `pgrecall upgrade` for it."
        if str(revision) > head_revision():
            fix = "Install the version of pgrecall that it has."
        raise SchemaMismatch(
            f"This database has schema {revision}, which does not go with this version's "
            f"({head_revision()}): {reason}.",
            hint=fix,
        )


def _reasons(connection: psycopg.Connection[Row], revision: str) -> Iterator[str]:
    if revision < OLDEST_SCHEMA:
        yield f"this version needs {OLDEST_SCHEMA} or newer"
    row = connection.execute(_SERVED.encode()).fetchone()
    served = re.search(r"clients of schema (\d{4})", row["said"] or "") if row else None
    if served and served[1] > head_revision():
        yield f"it serves clients of schema {served[1]} and newer"
    ours = json.loads(CALLS.read_text())
    names = [call["name"] for call in ours]
    theirs = connection.execute(DECLARED.encode(), {"names": names}).fetchall()
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in theirs:
        by_name.setdefault(row["name"], []).append(row)
    for call in ours:
        there = by_name.get(call["name"], [])
        if not there:
            yield f"it has no function recall.{call['name']}"
        elif not any(_serves(one, call) for one in there):
            yield f"its function recall.{call['name']} is called in another way, or returns something else"


def _serves(there: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    """Whether a function takes what a call passes, and returns what its caller reads."""
    given, taken = _plain(call["arguments"]), _plain(there["arguments"])
    if taken[: len(given)] != given or there["required"] > call["required"]:
        return False
    return bool(_plain(there["result"]) == _plain(call["result"]))


def _plain(value: Any) -> Any:
    """Names of types without their schemas, which depend on who asks and where extensions are."""
    if isinstance(value, str):
        return re.sub(r'"?\w+"?\.', "", value)
    return [_plain(one) for one in value] if isinstance(value, Sequence) else value
