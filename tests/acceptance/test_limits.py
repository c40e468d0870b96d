"""What may be written can be read, at every limit and by every face; each refuses what is beyond one."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from pgrecall import Draft
from tests.acceptance.cli.command_tools import Command
from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.mcp.mcp_tools import answer, connected, over_stdio, refusal


def nested(levels: int) -> dict[str, Any]:
    """Metadata of so many levels, objects and lists in turn."""
    value: Any = 1
    for level in range(1, levels + 1):
        value = {"a": value} if level % 2 == levels % 2 else [value]
    return value  # type: ignore[no-any-return]  # the last one is an object


TAGS = tuple(f"tag{number:05}" for number in range(1_600))
DRAFTS = (
    Draft("winch deep", key="deep", metadata=nested(100)),
    Draft("winch numbers", key="numbers", metadata={
        "all": [sys.float_info.max, -sys.float_info.max, 5e-324, 10**308, -(2**63), 2**64],
    }),
    Draft("winch metadata", key="metadata", metadata={"a": "ü" * 490_000}),
    Draft("winch " + "word " * 199_998, key="body"),
    Draft("winch", key="title", title="ß" * 1_000),
    Draft("winch key", key="k" * 1_000),
    Draft("winch tags", key="tags", author="ä" * 1_000, tags=TAGS),
)  # fmt: skip

REFUSED = {
    "deep": json.dumps(nested(101)),
    "very deep": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "digits": '{"a": ' + "9" * 5_000 + "}",
    "large": '{"a": 1' + "0" * 309 + "}",
    "exponent": '{"a": 2e308}',
    "bytes": json.dumps({"a": "x" * 1_000_001}),
}
"""Metadata as JSON, each beyond one limit."""


@pytest.fixture
def filled(database_url: str) -> str:
    with member(database_url) as memory:
        memory.remember_many(DRAFTS)
        for draft in DRAFTS:
            assert draft.key
            memory.edit(draft.key, role="user")
    return database_url


@pytest.fixture
def served(filled: str) -> Iterator[Served]:
    with serving(filled) as running:
        yield running


def test_every_face_reads_what_is_at_a_limit(served: Served, filled: str, pgrecall: Command) -> None:
    _read_over_http(served.client)
    _read_on_the_page(served.client)
    asyncio.run(_read_over_mcp(filled))
    _read_on_the_command_line(pgrecall)


def _read_over_http(client: httpx.Client) -> None:
    found = {one["key"]: one for one in client.get("/v1/memories").json()}
    assert set(found) == {draft.key for draft in DRAFTS}
    for draft in DRAFTS:
        one = client.get(f"/v1/memories/{draft.key}").json()
        assert one["metadata"] == found[draft.key]["metadata"]
        assert floats(one["metadata"]) == floats(draft.metadata)
        assert client.get(f"/v1/versions/{draft.key}").status_code == 200
        assert client.get(f"/v1/differences/{draft.key}", params={"earlier": 1}).status_code == 200
    for path, body in (("/v1/search", {}), ("/v1/context", {"budget_tokens": 500})):
        assert client.post(path, json={"query": "winch", **body}).status_code == 200


def _read_on_the_page(client: httpx.Client) -> None:
    assert client.get("/memories").status_code == 200
    for number in range(1, len(DRAFTS) + 1):
        for path in ("/memories/{}", "/edit/{}", "/versions/{}", "/versions/{}/1"):
            assert client.get(path.format(number)).status_code == 200, path


async def _read_over_mcp(database_url: str) -> None:
    async with connected(over_stdio(database_url, tenant="acme")) as client:
        for draft in DRAFTS:
            one = await answer(client, "get", memory=draft.key)
            assert floats(one["metadata"]) == floats(draft.metadata)
            await answer(client, "history", memory=draft.key)
            await answer(client, "diff", memory=draft.key, earlier=1)
        await answer(client, "search", query="winch")
        for text in REFUSED.values():
            said = await refusal(client, "remember", body="winch", metadata=text)
            assert "Traceback" not in said


def _read_on_the_command_line(pgrecall: Command) -> None:
    for draft in DRAFTS:
        assert draft.key
        shown = pgrecall("show", draft.key, "--json", tenant="acme")
        assert floats(shown.json["metadata"]) == floats(draft.metadata)
        assert pgrecall("show", draft.key, tenant="acme").code == 0
        assert pgrecall("history", draft.key, "--json", tenant="acme").code == 0
    assert len(pgrecall("list", "--json", tenant="acme").json) == len(DRAFTS)
    assert pgrecall("export", "-", tenant="acme").code == 0


def floats(value: Any) -> Any:
    """A value with its numbers as floats: Postgres writes a large one as an integer."""
    return json.loads(json.dumps(value), parse_int=float)


@pytest.mark.parametrize("name", REFUSED)
def test_every_face_refuses_what_is_beyond_it(kept: Served, pgrecall: Command, name: str) -> None:
    text = REFUSED[name]
    media = {"Content-Type": "application/json"}
    body = '{"key": "winch", "body": "The winch.", "metadata": ' + text + "}"
    answer = kept.client.post("/v1/memories", content=body, headers=media)
    assert answer.status_code in (400, 413, 422), answer.text
    changed = kept.client.patch("/v1/memories/rope", content='{"metadata": ' + text + "}", headers=media)
    assert changed.status_code in (400, 413, 422), changed.text
    if name != "bytes":  # an argument of a command has at most 128 KB
        told = pgrecall("remember", "The winch.", "--metadata", text)
        assert (told.code, told.err.startswith("Error: ")) == (2, True)
    assert kept.client.get("/v1/memories").status_code == 200


@pytest.fixture(scope="module")
def kept(shared_url: str) -> Iterator[Served]:
    with member(shared_url) as memory:
        memory.remember("The rope.", key="rope")
    with serving(shared_url) as running:
        yield running
