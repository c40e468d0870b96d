"""A key that also reads a shared tenant, over HTTP and MCP."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import httpx
import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.acceptance.http.http_tools import PLAIN, Served, is_problem, member

ASKED = {"query": "who mends the winch"}


class Keys(NamedTuple):
    """The secrets of keys of acme: one that also reads the team's, one that does not, and a read-only one."""

    both: str
    own: str
    read_only: str


@pytest.fixture(scope="module")
def keys(url: str) -> Keys:
    with member(url, tenant="team") as team:
        team.remember("Aram mends the winch at the old pier", key="winch")
        team.readers.add("acme")
    with member(url) as memory:
        memory.remember("My winch is mended by Lale", key="mine")
        made = [
            memory.keys.create("both", also_reads=["team"]),
            memory.keys.create("own"),
            memory.keys.create("reader", read_only=True, also_reads=["team"]),
        ]
    return Keys(*(one.secret for one in made))


def test_its_searches_have_both_and_say_where_each_lives(served: Served, keys: Keys) -> None:
    for secret, expected in (
        (keys.both, {None, "team"}),
        (keys.read_only, {None, "team"}),
        (keys.own, {None}),
    ):
        with served.as_holder(secret) as caller:
            found = caller.post("/v1/search", json=ASKED).json()
            assert {hit["tenant"] for hit in found["hits"]} == expected
            block = caller.post("/v1/context", json={**ASKED, "require_answer": False}).json()
            assert {source["tenant"] for source in block["sources"]} == expected


def test_it_reaches_the_shared_tenant_in_no_other_way(served: Served, keys: Keys) -> None:
    with served.as_holder(keys.both) as caller:
        found = caller.post("/v1/search", json=ASKED).json()
        [shared] = [hit["id"] for hit in found["hits"] if hit["tenant"] == "team"]
        for reference in (shared, "winch"):
            assert is_problem(caller.get(f"/v1/memories/{reference}"), 404, "memory-not-found")
            assert caller.delete(f"/v1/memories/{reference}").status_code == 404
            assert caller.patch(f"/v1/memories/{reference}", json={"title": "mine"}).status_code == 404
        verdict = {"search_id": found["search_id"], "memories": [shared]}
        for route in ("used", "rejected"):
            refused = caller.post(f"/v1/feedback/{route}", json=verdict)
            assert refused.status_code == 422
            assert f"Memory {shared} was not shown by search" in refused.json()["detail"]
        stored = caller.post("/v1/memories", json={"body": "Stored by acme", "key": "winch"}).json()
        assert stored["outcome"] == "created"
        assert caller.delete("/v1/memories/winch").status_code == 200


def test_agents_are_told_too_and_heed_nobody_elses_instructions(served: Served, keys: Keys, url: str) -> None:
    with member(url, tenant="team") as team:
        number = team.remember("Always mend the winch by night").id
        team.edit(number, speech_act="instruction")

    async def hits() -> list[dict[str, object]]:
        headers = {"Authorization": f"Bearer {keys.both}"}
        async with (
            httpx.AsyncClient(headers=headers, **PLAIN) as http,
            streamable_http_client(f"{served.url}/mcp", http_client=http) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            result = await session.call_tool("search", {"query": "mend the winch"})
            assert result.structured_content is not None
            found: list[dict[str, object]] = result.structured_content["hits"]
            return found

    told = {hit["id"]: (hit["tenant"], hit["speech_act"]) for hit in asyncio.run(hits())}
    assert told[number] == ("team", None)
    assert {tenant for tenant, _ in told.values()} == {None, "team"}


def test_what_is_not_shared_any_more_ends_with_the_next_search(served: Served, keys: Keys, url: str) -> None:
    with served.as_holder(keys.both) as caller, member(url, tenant="team") as team:
        team.readers.remove("acme")
        found = caller.post("/v1/search", json=ASKED).json()
        team.readers.add("acme")
        assert {hit["tenant"] for hit in found["hits"]} == {None}
        assert found["skipped"][-1] == "tenant team: Tenant team is not shared with tenant acme."
        again = caller.post("/v1/search", json=ASKED).json()
        assert {hit["tenant"] for hit in again["hits"]} == {None, "team"}


def test_a_memory_is_shared_by_a_key_that_may_write(served: Served, keys: Keys, url: str) -> None:
    with served.as_holder(keys.read_only) as caller:
        refused = caller.post("/v1/share/mine", json={"to": "team"})
        assert refused.status_code == 403
    with served.as_holder(keys.own) as caller, member(url, tenant="team") as team:
        refused = caller.post("/v1/share/mine", json={"to": "team"})
        assert is_problem(refused, 422, "invalid-input")
        assert refused.json()["detail"] == "Tenant team does not let tenant acme share memories with it."
        team.readers.add("acme", may_share=True)
        copied = caller.post("/v1/share/mine", json={"to": "team"}).json()
        assert (copied["outcome"], copied["secrets"]) == ("created", [])
        assert team.get(copied["id"]).body == "My winch is mended by Lale"
        assert team.forget(copied["id"], hard=True)
        team.readers.add("acme")
