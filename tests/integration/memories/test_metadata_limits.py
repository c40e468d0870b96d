"""Metadata that some reader could not read is refused, wherever it comes from."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import psycopg
import pytest

from pgrecall import Draft, Memory
from pgrecall.errors import InvalidInput
from tests.databases import Query

pytestmark = pytest.mark.in_turns


def nested(levels: int, kind: str = "object") -> dict[str, Any]:
    """Metadata of so many levels, without recursion."""
    value: Any = 1
    for level in range(levels):
        value = {"a": value} if kind == "object" or level == levels - 1 else [value]
    return value  # type: ignore[no-any-return]  # the last one is an object


def as_floats(value: Any) -> Any:
    """A value with its numbers as floats: Postgres writes a large one as an integer."""
    return json.loads(json.dumps(value), parse_int=float)


ACCEPTED = {
    "objects": nested(100),
    "arrays": nested(100, "array"),
    "largest": {"a": sys.float_info.max, "b": -sys.float_info.max},
    "smallest": {"a": 5e-324, "b": -2.2250738585072014e-308},
    "integer": {"a": 10**308},
    "text": {"a": "x" * 990_000},
}
DEEP = "metadata is nested more than 100 levels deep"
LONG = "metadata has a number beyond 1.8e308, or of more than 400 digits"
REFUSED = {
    "objects": (json.dumps(nested(101)), DEEP),
    "arrays": (json.dumps(nested(101, "array")), DEEP),
    "digits": ('{"a": ' + "9" * 5000 + "}", LONG),
    "exponent": ('{"a": 1e400}', LONG),
    "negative": ('{"a": [-2e308]}', LONG),
    "fraction": ('{"a": {"b": 1e-401}}', LONG),
    "zero": ('{"a": 0e-16000}', LONG),
    "largest": ('{"a": 1e131071}', LONG),
    "many": ('{"a": [' + ",".join(["0e-390"] * 20_000) + "]}", "metadata has 7"),
    "text": (json.dumps({"a": "x" * 1_000_001}), "more than 1,000,000"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_metadata_at_every_limit_is_read_again(memory: Memory, name: str) -> None:
    metadata = ACCEPTED[name]
    memory.remember("The winch.", key="one", metadata=metadata)
    memory.edit("one", body="The winch is oiled.")
    assert as_floats(memory.get("one").metadata) == as_floats(metadata)
    assert as_floats(memory.list()[0].metadata) == as_floats(metadata)
    for version in memory.history.versions("one"):
        assert as_floats(version.metadata) == as_floats(metadata)
    assert memory.search("winch").hits[0].key == "one"
    file = io.BytesIO()
    memory.export.write(file)
    file.seek(0)
    other = memory.for_tenant("other")
    other.export.read(file)
    assert as_floats(other.get("one").metadata) == as_floats(metadata)


@pytest.mark.parametrize("name", REFUSED)
def test_metadata_beyond_a_limit_is_refused(query: Query, memory: Memory, name: str) -> None:
    text, reason = REFUSED[name]
    for call in (
        "SELECT recall.remember('The winch.', p_metadata => %s::jsonb)",
        "SELECT * FROM recall.remember_many("
        "jsonb_build_array(jsonb_build_object('body', 'b', 'metadata', %s::jsonb)))",
        "SELECT * FROM recall.edit(recall.remember('The winch.'), jsonb_build_object('metadata', %s::jsonb))",
    ):
        with pytest.raises(psycopg.Error, match=reason):
            query(call, (text,))
    assert memory.status().memories == 0


@pytest.mark.parametrize("levels", [101, 300, 900, 1_000, 3_000, 200_000])
def test_the_client_refuses_what_is_too_deep(memory: Memory, levels: int) -> None:
    deep = nested(levels)
    memory.remember("The winch.", key="one")
    stores = [
        lambda: memory.remember("The rope.", metadata=deep),
        lambda: memory.remember_many([Draft("The rope.", metadata=deep)]),
        lambda: memory.edit("one", metadata=deep),
    ]
    filters = [lambda: memory.list(metadata=deep), lambda: memory.search("winch", metadata=deep)]
    for call in (*stores, *(filters if levels > 2_000 else ())):
        with pytest.raises(InvalidInput, match="nested"):
            call()


@pytest.mark.parametrize(
    ("kind", "field"), [("memory", "metadata"), ("memory_version", "metadata"), ("plan", "report")]
)
@pytest.mark.parametrize("name", ["objects", "digits", "exponent"])
def test_an_import_refuses_them_in_every_field(memory: Memory, kind: str, field: str, name: str) -> None:
    memory.remember("The winch.", key="one")
    memory.edit("one", body="The winch is oiled.")
    memory.plans.prune()
    file = io.BytesIO()
    memory.export.write(file)
    lines = file.getvalue().decode().splitlines()
    held = next(place for place, line in enumerate(lines) if line.startswith(f'{{"{kind}"'))
    row = json.loads(lines[held])[kind]
    own = json.dumps(row[field])
    added = REFUSED[name][0]
    lines[held] = json.dumps({kind: {**row, field: "@"}}).replace(
        '"@"', added if own == "{}" else f'{own[:-1]}, "x": {added}}}'
    )
    with pytest.raises(InvalidInput, match="cannot be imported: its"):
        memory.for_tenant("other").export.read(io.BytesIO("\n".join(lines).encode()))
