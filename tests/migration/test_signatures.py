"""What programs outside call: a function that loses its name, an argument or a column is noticed here.

``signatures.txt`` is what the functions of ``recall`` that a role may call looked like. Where this fails,
programs that call one of them by position or by name may break: say so in CHANGELOG.md, under Changed, and
write the file anew with ``WRITE_SIGNATURES=1``. What only adds (a function, a last argument with a default, a
last column) breaks nobody, and the file is written anew just so.

``pgrecall/schema/calls.json`` is the same for clients, which compare it with a cell of another version. It is
written with it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from pgrecall.schema.compatibility import CALLS, DECLARED
from tests.databases import Query

FILE = Path(__file__).with_name("signatures.txt")
PUBLIC = (
    "SELECT format('%s(%s) -> %s', p.proname, pg_get_function_arguments(p.oid), "
    "pg_get_function_result(p.oid)) AS signature FROM recall_private.declared_functions() d "
    "JOIN pg_proc p ON p.proname = d.name AND p.pronamespace = 'recall'::regnamespace "
    "WHERE d.least_role <> 'recall_owner' ORDER BY p.proname"
)


def test_public_functions_are_called_as_before(sql: Query) -> None:
    now = [row["signature"] for row in sql(PUBLIC)]
    assert len(now) > 95
    if os.environ.get("WRITE_SIGNATURES"):
        FILE.write_text("".join(f"{signature}\n" for signature in now))
    assert now == FILE.read_text().splitlines(), "see the head of this file"


def test_clients_know_how_they_are_called(sql: Query) -> None:
    called = "SELECT d.name FROM recall_private.declared_functions() d WHERE d.least_role <> 'recall_owner'"
    names = [row["name"] for row in sql(called)]
    now = sql(DECLARED, {"names": names})
    if os.environ.get("WRITE_SIGNATURES"):
        CALLS.write_text("[\n" + ",\n".join(json.dumps(call) for call in now) + "\n]\n")
    assert now == json.loads(CALLS.read_text()), "see the head of this file"
