"""Compatibility of this version with schemas of other versions, for example while cells are upgraded in turn.

What a client calls is in ``calls.json``: the declared functions of this version, generated from a database. A
schema of another version may be used if neither version declares that it cannot: :data:`OLDEST_SCHEMA`, and
the comment on the function ``recall.installation``. Of its functions those may be called that have the same
arguments and results; more arguments with defaults and more columns, at the end of both, do no harm.
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
    "coalesce(p.proargnames[i], ''), replace(format_type(p.proargtypes[i - 1], NULL), '\"', '')) ORDER BY i) "
    "FROM generate_series(1, p.pronargs) i), '[]') AS arguments, "
    "p.pronargs - p.pronargdefaults AS required, replace(pg_get_function_result(p.oid), '\"', '') AS result "
    "FROM pg_proc p WHERE p.pronamespace = 'recall'::regnamespace AND p.proname = ANY (%(names)s::name[]) "
    "ORDER BY 1, 2, 4"
)
"""How functions are called: their arguments by name and type, how many have no default, and the result.
Without the quotes that a server with quote_all_identifiers adds."""

_SERVED = (
    "SELECT obj_description(p.oid) AS comment FROM pg_proc p "
    "WHERE p.pronamespace = 'recall'::regnamespace AND p.proname = 'installation'"
)


def unusable_calls(url: str, state: SchemaState, *, timeout: float = 10.0) -> Mapping[str, str]:
    """The functions that a client of this version cannot call in a schema, by name, with the reason.

    Raises:
        SchemaMismatch: none may be called: it is not initialised, or of a version that does not go with this
            one; says why.
    """
    if is_current(state):
        return {}
    revision = state.revision
    if revision is None or not re.fullmatch(r"\d{4}", revision):
        require_current(state)
    versions = (
        f"This database has schema {revision}, which does not go with this version's ({head_revision()})"
    )
    fix = "Run `pgrecall upgrade` for it."
    if str(revision) > head_revision():
        fix = "Install the version of pgrecall that it has."
    with connect(url, timeout=timeout) as connection:
        reason = _refusal(connection, str(revision))
        if reason is not None:
            raise SchemaMismatch(f"{versions}: {reason}.", hint=fix)
        return {name: f"{versions}: {reason}. {fix}" for name, reason in _different_calls(connection)}


def _refusal(connection: psycopg.Connection[Row], revision: str) -> str | None:
    """Returns why no function of a schema may be called; None if functions may be called."""
    if revision < OLDEST_SCHEMA:
        return f"this version needs {OLDEST_SCHEMA} or newer"
    row = connection.execute(_SERVED.encode()).fetchone()
    served = re.search(r"clients of schema (\d{4})", row["comment"] or "") if row else None
    if served and served[1] > head_revision():
        return f"it serves clients of schema {served[1]} and newer"
    return None


def _different_calls(connection: psycopg.Connection[Row]) -> Iterator[tuple[str, str]]:
    """The functions that cannot be called as in this version, with the reason."""
    ours = json.loads(CALLS.read_text())
    names = [call["name"] for call in ours]
    theirs = connection.execute(DECLARED.encode(), {"names": names}).fetchall()
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in theirs:
        by_name.setdefault(row["name"], []).append(row)
    for call in ours:
        name = call["name"]
        there = by_name.get(name, [])
        if not there:
            yield name, f"it has no function recall.{name}"
        elif not any(_serves(one, call) for one in there):
            yield name, f"its function recall.{name} is called in another way, or returns something else"


def _serves(there: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    """Whether a function accepts the arguments of a call, and returns the columns that the caller reads."""
    given, taken = _plain(call["arguments"]), _plain(there["arguments"])
    if taken[: len(given)] != given or there["required"] > call["required"]:
        return False
    returned, read = _columns(there["result"]), _columns(call["result"])
    return returned[: len(read)] == read and (len(returned) == len(read) or len(read) > 1)


def _columns(result: str) -> list[str]:
    """The columns of a table that a function returns, with their types; else what it returns, alone.

    A later version may have more columns at the end: readers leave out what they do not know.
    """
    if not result.startswith("TABLE("):
        return [_plain(result)]
    return ["TABLE", *re.split(r", (?![^(]*\))", _plain(result[6:-1]))]


def _plain(value: Any) -> Any:
    """Removes schemas from names of types, because they depend on the search path and on the schema of
    extensions."""
    if isinstance(value, str):
        return re.sub(r'"?\w+"?\.', "", value)
    return [_plain(one) for one in value] if isinstance(value, Sequence) else value
