"""A law: what is accepted is read alike by every interface. Fields at their limits are mixed by chance."""

from __future__ import annotations

import asyncio
import io
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pgrecall import Draft, Memory
from pgrecall.encoding import MAX_LEVELS
from pgrecall.faces.cli.rendering.console import plain
from tests.acceptance.cli.command_tools import Command
from tests.acceptance.http.http_tools import Served, serving
from tests.acceptance.mcp.mcp_tools import answer, connected, over_stdio
from tests.acceptance.typescript.node_tools import node
from tests.acceptance.typescript.test_typescript import compiled, installed
from tests.scale import SCALE

__all__ = ["compiled", "installed"]

MEMORIES = 20 * SCALE

ODD = "".join(map(chr, (*range(1, 32), 0x7F, 0x85, 0x2028, 0xFEFF, 0xFFFD, 0xFFFF, 0x10FFFF, 0x1F600)))
"""Characters that some format or other treats in a way of its own."""

TEXTS = (
    ODD,
    "'\"\\<>&{}[]|`$%#?/;:,",
    "\r\n\r\n",
    "ü" * 100,
    "a\u0301",
    "\u202eabc",
    "NULL",
    "1e5",
    "-0",
    "__proto__",
)


EARLIEST = datetime(1, 1, 3, tzinfo=UTC)
LATEST = datetime(9999, 12, 29, 23, 59, 59, 999999, tzinfo=UTC)
"""In every time zone a year from 1 to 9999."""


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = {"a": value} if level % 2 or level == levels - 1 else [value]
    return value


VALUES: dict[str, tuple[Any, ...]] = {
    "title": ("ß" * 1_000, "x" * 1_000, *TEXTS[:4]),
    "author": ("ü" * 1_000, "x" * 2_000, *TEXTS),
    "source": ("ü" * 1_000, *TEXTS),
    "session_id": ("x" * 1_000, "ü" * 500, *TEXTS),
    "context": ("word " * 1_000, ODD),
    "role": ("user", "assistant"),
    "tags": (tuple(f"tag{number:05}" for number in range(1_600)), TEXTS, ("ü" * 9_000,)),
    "aliases": (tuple(f"name{number:05}" for number in range(1_500)), TEXTS),
    "occurred_at": (EARLIEST, datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)),
    "valid_from": (EARLIEST,),
    "valid_until": (LATEST,),
    "expires_at": (LATEST,),
    "pinned": (True,),
    "metadata": (
        nested(MAX_LEVELS),
        {"n": [1.7976931348623157e308, 5e-324, -0.0, 10**308, 2**53 + 1, -(2**63)]},
        {text: text for text in ("", *TEXTS, "constructor", "toString")},
        {"a": "ü" * 300_000},
        {"a": [None, True, [], {}, [[]]]},
    ),
}  # fmt: skip
"""At the limit of each field, and what some reader could take for something else."""

KEYS = (
    ".", "..", "...", "%2e%2e", "%2F", "a/../b", "/", "//", "a b", "+", "?", "#", "é" * 900, "k" * 1_000,
    " x", ODD, "0", "-1",
)  # fmt: skip


def drafts(dice: random.Random) -> Iterator[Draft]:
    """Each of some fields at one of its limits; the texts have a word that finds them."""
    for number in range(MEMORIES):
        fields = dice.sample(sorted(VALUES), dice.randint(1, 6))
        key = KEYS[number] if number < len(KEYS) else f"key{number}"
        body = dice.choice((f"winch {ODD}", "winch", f"winch {number} " + "word " * 2_000))
        yield Draft(body, key=key, **{name: dice.choice(VALUES[name]) for name in fields})


TIMES = {"occurred_at", "valid_from", "valid_until", "expires_at"}
SHOWN = ("body", "title", "author", "source", "session_id", "role", "metadata", "tags", "aliases", "pinned",
         "occurred_at", "valid_from", "valid_until", "expires_at")  # fmt: skip

SCRIPT = """
import { Memory } from "./build/src/index.js";
const memory = new Memory();
const found = {};
for await (const { id, key } of memory.listAll({ limit: 7 })) {
  found[id] = await memory.get(id);
  if (![".", "..", "0", "-1"].includes(key)) await memory.get(key);
  await memory.history.versions(id);
  await memory.history.diff(id, 1);
}
const { hits } = await memory.search("winch", { k: 50 });
await memory.context("winch", { budget_tokens: 500 });
console.log(JSON.stringify({ found, hits: hits.length }));
"""

Read = dict[int, Any]


def alike(value: Any) -> Any:
    """What is shown of a memory, with numbers as floats: Postgres and JavaScript write them otherwise."""
    shown = {name: one for name, one in value.items() if name in SHOWN}
    for name in TIMES & shown.keys():
        moment = shown[name]
        shown[name] = moment and datetime.fromisoformat(moment).isoformat()
    return json.loads(json.dumps(shown), parse_int=float)


@pytest.fixture
def stored(memory: Memory) -> Read:
    """Memories with two earlier versions, as they must be read, by id."""
    written = {}
    for draft in drafts(random.Random("limits")):
        [made] = memory.remember_many([draft])
        memory.edit(made.id, role="user" if draft.role != "user" else "assistant")
        memory.edit(made.id, role=draft.role)
        written[made.id] = alike(plain(draft))
    assert len(written) == MEMORIES
    return written


def test_whatever_is_accepted_is_read_alike(
    stored: Read, memory: Memory, database_url: str, pgrecall: Command
) -> None:
    with serving(database_url) as served:
        readers = {
            "Python": _by_python(memory),
            "an export": _by_export(memory),
            "HTTP": _over_http(served, stored),
            "the command line": {
                number: pgrecall("show", str(number), "--json", tenant="acme").json for number in stored
            },
            "MCP": asyncio.run(_over_mcp(database_url, stored)),
        }
        _on_the_page(served, stored)
    for reader, read in readers.items():
        assert read.keys() == stored.keys(), reader
        for number, written in stored.items():
            shown = alike(read[number])
            assert len(shown) >= 6, reader
            assert shown == {name: written[name] for name in shown}, (reader, number)


def _by_python(memory: Memory) -> Read:
    for one in memory.list(limit=1_000):
        assert memory.history.versions(one.id)
        memory.history.diff(one.id, 1)
    assert memory.search("winch", k=50).hits
    return {one.id: plain(memory.get(one.id)) for one in memory.list(limit=1_000)}


def _by_export(memory: Memory) -> Read:
    file = io.BytesIO()
    memory.export.write(file)
    file.seek(0)
    other = memory.for_tenant("other")
    other.export.read(file)
    ids = {one.key: one.id for one in memory.list(limit=1_000)}
    return {ids[one.key]: plain(other.get(one.id)) for one in other.list(limit=1_000)}


def _over_http(served: Served, stored: Read) -> Read:
    client = served.client
    for number in stored:
        assert client.get(f"/v1/versions/{number}").status_code == 200
        assert client.get(f"/v1/differences/{number}", params={"earlier": 1}).status_code == 200
    assert client.post("/v1/search", json={"query": "winch", "k": 50}).json()["hits"]
    assert client.post("/v1/context", json={"query": "winch", "budget_tokens": 500}).status_code == 200
    read = {number: client.get(f"/v1/memories/{number}").json() for number in stored}
    for one in read.values():
        if one["key"] not in (".", "..", "0", "-1"):  # no names in an address, and ids of no memory
            by_key = client.get(f"/v1/memories/{quote(one['key'], safe='')}")
            assert by_key.json()["id"] == one["id"], one["key"]
    return read


def _on_the_page(served: Served, stored: Read) -> None:
    assert served.client.get("/memories").status_code == 200
    for number in stored:
        for path in ("/memories/{}", "/edit/{}", "/versions/{}"):
            assert served.client.get(path.format(number)).status_code == 200, (path, number)


async def _over_mcp(database_url: str, stored: Read) -> Read:
    async with connected(over_stdio(database_url, tenant="acme")) as client:
        await answer(client, "search", query="winch", k=20)
        return {number: await answer(client, "get", memory=number) for number in stored}


def test_whatever_is_accepted_is_read_in_typescript(
    stored: Read, memory: Memory, database_url: str, compiled: Path
) -> None:
    key = memory.keys.create("node").secret
    with serving(database_url) as served:
        done = node(
            "--input-type=module", "--eval", SCRIPT, PGRECALL_SERVICE_URL=served.url, PGRECALL_KEY=key
        )
    said = json.loads(done.stdout)
    assert said["hits"] > 0
    assert said["found"].keys() == {str(number) for number in stored}
    for number, written in stored.items():
        shown = alike(said["found"][str(number)])
        assert len(shown) == len(SHOWN)
        assert shown == written, number
