"""What a role stores with any function in its own tenant, and with any values, comes back from an export.

Else whoever has one login of a tenant, such as an agent, takes away its exports and its moves to other cells.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.acceptance.http.http_tools import member
from tests.attack.calls import Attack, Function, attacks_on, functions_of
from tests.attack.world import World, fill

pytestmark = pytest.mark.attack

VALUES: dict[str, list[Any]] = {
    "text": ["", "x" * 101, "x" * 501, "x" * 10_001, "é" * 1_001, "\u202e\ud7ff\U0010ffff\x01"],
    "text[]": [[], [None], [""], ["x" * 10_001], ["x"] * 1_001, [["x"], ["y"]]],
    "jsonb": ["null", "{}", "[[]]", '"x"', '{"x": 1e308}', '{"x": "' + "x" * 20_000 + '"}'],
    "integer": [-1, 2**31 - 1],
    "double precision": [-1.0, 1e-300, 1e300, float("nan"), float("inf")],
    "timestamp with time zone": ["0001-01-01", "9999-12-31 23:59", "-infinity", "infinity", "4713-01-01 BC"],
    "bigint[]": [[], [None], [2**62]],
    "boolean": [None],
}
"""At and beyond what fields may be."""

FIELDS = [
    "title", "body", "context", "key", "author", "source", "role", "tags", "aliases", "metadata",
    "occurred_at", "valid_from", "valid_until", "expires_at", "session_id", "layer", "links",
    "at", "kind", "weight", "idempotency_key",
]  # fmt: skip
ODD = [
    None, "", "x" * 101, "x" * 10_001, "é" * 1_001, 1e308, -1, [], [None], ["x" * 501], {},
    {"x": "y" * 20_000}, "0001-01-01", "9999-12-31 23:59+00", "infinity",
]  # fmt: skip
"""The same for each field of a draft, an edit or an access."""

KEPT = ("apply_erasure", "forget", "forget_many", "release_import", "revoke_key")
"""Without these, little would be left to export."""


def odd_calls(function: Function, own: dict[str, int]) -> Iterator[Attack]:
    """The plain call, with each odd value in each argument."""
    plain = next(attacks_on(function, {}, own))
    names = function.names[: function.required] + (("p_now",) if "p_now" in function.names else ())
    harmless = dict(zip(names, plain.parameters, strict=True))
    kinds = dict(zip(function.names, function.types, strict=True))
    yield plain
    for name, kind in kinds.items():
        for value in VALUES.get(kind, []):
            values = harmless | {name: value}
            arguments = ", ".join(f"{one} => %s::{kinds[one]}" for one in values)
            yield Attack(
                function.name, f"SELECT * FROM recall.{function.name}({arguments})", tuple(values.values())
            )


def odd_documents(own: dict[str, int]) -> Iterator[Attack]:
    """Drafts, edits and accesses with each odd value in each field."""
    access = {"memory_id": own["memory"], "kind": "used"}
    for field, value in itertools.product(FIELDS, ODD):
        odd = {field: value}
        draft = {"body": f"odd {field}", "key": f"odd-{field}-{ODD.index(value)}", **odd}
        for function, call, given in (
            ("remember_many", "recall.remember_many(%s)", [draft]),
            ("edit", f"recall.edit({own['other']}, %s)", odd),
            ("record_accesses", "recall.record_accesses(%s)", [access | odd]),
        ):
            yield Attack(function, f"SELECT * FROM {call}", (json.dumps(given),))


def test_whatever_is_stored_can_be_exported_and_imported(
    database_url: str, own_logins: dict[str, str], tried: Counter[str]
) -> None:
    with psycopg.connect(database_url, autocommit=True) as admin:
        world = World(database_url, admin)
        fill(world)
        functions = functions_of(admin)
    calls = itertools.chain(
        odd_documents(world.own),
        *(odd_calls(function, world.own) for function in functions if function.name not in KEPT),
    )
    stored = 0
    with world.log_in(own_logins["worker"]) as role:
        role.execute("SET lock_timeout = '5s'; SET statement_timeout = '60s'")
        for attack in calls:
            tried["own exports"] += 1
            with contextlib.suppress(psycopg.DatabaseError):
                role.execute(attack.sql.encode(), attack.parameters)
                stored += 1
    assert stored > len(functions)
    file = io.BytesIO()
    with member(database_url, tenant="acme") as memory:
        written = memory.export.write(file)
    file.seek(0)
    with member(database_url, tenant="copy") as memory:
        memory.export.read(file)
        assert memory.export.write(io.BytesIO()).lines == written.lines
