"""What the client sends for a search: what is not by default, for its own tenant, in one statement."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from pgrecall import AsyncMemory, Memory, MemoryNotFound
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.operation import Operation
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.operations import find, search_and_log
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS, NOW
from tests.databases import Query

pytestmark = pytest.mark.in_turns

TENANTS = ("acme", "other", "third")
HERE_ALONE = {"rerank", "deadline", "project", "project_only", "log", "now", "plan"}


@pytest.fixture(params=[None, 30.0], ids=["any time", "limited"])
def narrow(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Memory]:
    """A client with one connection, over which three tenants have stored their names."""
    one = replace(settings, pool_size=1, timeout=request.param)
    with Memory(settings=one, embedder=HashEmbedder(DIMENSIONS)) as memory:
        for tenant in TENANTS:
            memory.for_tenant(tenant).remember("The harbour opens at six", key=tenant)
        yield memory


def test_what_is_not_sent_is_what_the_database_takes_for_it(sql: Query) -> None:
    [read] = sql("SELECT to_jsonb(r.filter) AS filter, to_jsonb(r.request) AS request "
                 "FROM recall_private.read_search_request('{}') r")  # fmt: skip
    values = read["filter"] | read["request"]
    usual = SearchRequest()
    sent = {field.name for field in fields(SearchRequest)} - HERE_ALONE
    computed = {"moment", "terms", "archived_as_of", "superseded_as_of", "narrow"}
    assert sent == set(values) - computed
    assert {name: values[name] for name in sent - {"query"}} == {
        name: getattr(usual, name) for name in sent - {"query"}
    }


@pytest.mark.parametrize(
    "asked",
    [
        SearchRequest("harbour"),
        SearchRequest(
            "harbour", k=3, layers=("knowledge",), explain=False, queries=("ferry",), hints=("six",)
        ),
        SearchRequest(since=NOW, weights={"lexical": 2}, profile="seed", session_id="s", as_of=NOW),
    ],
)
def test_only_what_differs_is_sent_by_one_statement(asked: SearchRequest) -> None:
    usual = SearchRequest()
    differing = {f.name for f in fields(usual) if getattr(asked, f.name) != getattr(usual, f.name)}
    for operation in (find, search_and_log):
        sent = operation(asked, None)
        assert set(json.loads(str(sent.parameters["request"]))) == differing
        assert sent.sql == operation(usual, [Embedded([1.0])]).sql


@pytest.mark.parametrize("options", [{}, {"log": False}, {"k": 5, "explain": False, "rerank": True}])
def test_each_tenant_finds_its_own_over_one_connection(narrow: Memory, options: dict[str, Any]) -> None:
    for tenant in (*TENANTS, *reversed(TENANTS)):
        found = narrow.for_tenant(tenant).search("harbour", **options)
        assert [hit.key for hit in found.hits] == [tenant]


def test_cues_are_looked_up_among_the_own(narrow: Memory) -> None:
    for tenant in TENANTS:
        view = narrow.for_tenant(tenant)
        assert {hit.key for hit in view.search("harbour", cues=[tenant]).hits} <= {tenant}
        with pytest.raises(MemoryNotFound):
            view.search("harbour", cues=["acme" if tenant != "acme" else "other"])


def test_a_search_leaves_no_tenant_on_its_connection(settings: Settings) -> None:
    left = Operation("SELECT current_setting('recall.tenant', true) AS tenant", {}, _tenant, acting=True)
    with Memory(settings=replace(settings, pool_size=1), embedder=HashEmbedder(DIMENSIONS)) as memory:
        memory.remember("The harbour opens at six")
        assert memory.search("harbour").hits
        assert not memory._connection.execute(left)


def test_tasks_of_many_tenants_share_one_connection(settings: Settings) -> None:
    async def ask() -> None:
        one = replace(settings, pool_size=1)
        async with AsyncMemory(settings=one, embedder=HashEmbedder(DIMENSIONS)) as memory:
            for tenant in TENANTS:
                await memory.for_tenant(tenant).remember("The harbour opens at six", key=tenant)
            found = await asyncio.gather(*(memory.for_tenant(t).search("harbour") for t in TENANTS * 5))
            assert [[hit.key for hit in one.hits] for one in found] == [[t] for t in TENANTS * 5]

    asyncio.run(ask())


def _tenant(rows: Any) -> Any:
    return rows[0]["tenant"]
