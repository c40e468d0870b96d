"""Every tool and resource over both transports, in both ages of the protocol, by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import TextContent

from pgrecall import __version__
from tests.acceptance.mcp.mcp_tools import TOOLS, answer, connected, over_stdio, run, served_over_http
from tests.databases import Query

pytestmark = pytest.mark.in_turns

Server = StdioServerParameters | str


@pytest.fixture(scope="module")
def address(shared_url: str) -> Iterator[str]:
    """One server over HTTP for all tests; over standard input and output each client starts its own."""
    with served_over_http(shared_url, tenant="acme") as address:
        yield address


@pytest.fixture(params=["stdio", "http"])
def served(request: pytest.FixtureRequest, database_url: str) -> Server:
    if request.param == "stdio":
        return over_stdio(database_url, tenant="acme")
    return str(request.getfixturevalue("address"))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_conversation_with_every_tool(served: Server, mode: str, query: Query) -> None:
    async def scenario() -> None:
        async with connected(served, mode) as client:
            await says_what_it_is(client)
            old = await answer(client, "remember", body="The gate code is 4711.", key="gate", tags=["house"])
            new = await answer(client, "remember", body="The gate code is 2048 since May.")
            assert (old["outcome"], new["key"]) == ("created", None)
            await found_and_used(client, new["id"])
            assert (await answer(client, "supersede", old="gate", new=new["id"])) == {"new": True}
            left = (await answer(client, "search", query="gate code"))["hits"]
            assert [hit["id"] for hit in left] == [new["id"]]
            await asked_otherwise(client, old["id"], new["id"])
            await linked(client, old["id"], new["id"])
            await planned_and_forgotten(client, new["id"])

    run(scenario())
    assert query("SELECT count(*) FROM recall.memory")[0]["count"] == 2  # forgetting deletes nothing


def test_remembering_again_keeps_what_is_left_out(served: Server, query: Query) -> None:
    fields = {"title": "Gate", "layer": "entity", "role": "user", "author": "Mira", "context": "house",
              "source": "log", "tags": ["house"], "aliases": ["the gate"], "metadata": {"a": 1},
              "pinned": True}  # fmt: skip
    times = {"occurred_at": "2026-01-02", "valid_until": "2099-01-01"}

    async def scenario() -> None:
        async with connected(served, "auto") as client:

            async def after(**given: Any) -> tuple[list[str], dict[str, Any]]:
                changed = (await answer(client, "remember", key="gate", **given))["changed"]
                [row] = query("SELECT to_jsonb(m) AS m FROM recall.memory m")
                return changed, {name: row["m"][name] for name in (*fields, *times)}

            _, first = await after(body="The code is 4711.", **fields, **times)
            assert {name: first[name] for name in fields} == fields
            assert await after(body="The code is 2048.") == (["body"], first)
            nothing = dict.fromkeys((*fields, *times))
            assert await after(body="The code is 2048.", **nothing) == ([], first)
            texts = dict.fromkeys(("title", "role", "author", "context", "source", *times), "")
            changed, last = await after(
                body="The code is 2048.", **texts, tags=[], aliases="", metadata={}, pinned=False
            )
            assert sorted(changed) == sorted({*texts, "tags", "aliases", "metadata"})
            held = [last[name] for name in ("title", "role", "tags", "aliases", "metadata", "valid_until")]
            assert held == ["", None, [], [], {}, None]
            assert (last["layer"], last["pinned"]) == ("entity", True)

    run(scenario())


async def says_what_it_is(client: Client) -> None:
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("pgrecall", __version__)
    assert "search" in (client.instructions or "")
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS
    hints = {tool.name: tool.annotations for tool in tools if tool.annotations is not None}
    changing = {name for name, hint in hints.items() if not hint.read_only_hint}
    assert changing == {
        "remember", "used", "link", "supersede", "forget", "prune_plan", "dedupe_plan", "restore"
    }  # fmt: skip
    assert {name for name, hint in hints.items() if hint.destructive_hint} == {
        "remember", "forget", "restore",
    }  # fmt: skip
    assert all(tool.output_schema and tool.description for tool in tools)


async def found_and_used(client: Client, new: int) -> None:
    found = await answer(client, "search", query="what is the gate code?", explain=True, max_chars=50)
    assert not found["no_match"]
    assert {hit["id"] for hit in found["hits"]} >= {new}
    assert found["hits"][0]["why"].startswith("Found by")
    block = await answer(client, "context", query="what is the gate code?", budget_tokens=300)
    assert "2048" in block["text"]  # the newer of two versions
    assert block["sources"][0]["number"] == 1
    said = {"memories": ["gate"], "search_id": found["search_id"]}
    assert (await answer(client, "used", **said)) == {"recorded": 1}
    said = {"memories": [new], "search_id": block["search_id"]}
    assert (await answer(client, "used", **said)) == {"recorded": 1}
    assert (await answer(client, "used", **said)) == {"recorded": 0}
    assert (await answer(client, "used", memories=["gate"])) == {"recorded": 1}


async def asked_otherwise(client: Client, old: int, new: int) -> None:
    async def found(**question: Any) -> list[int]:
        return [hit["id"] for hit in (await answer(client, "search", **question))["hits"]]

    assert await found(since="1d") == [new]
    assert await found(until="2020-01-01") == []
    assert await found(query="gate", queries=["May"], hints=["2048"]) == [new]
    both = (await answer(client, "search", query="gate code", include_superseded=True, rerank=True))["hits"]
    assert {hit["id"]: hit["superseded_by"] for hit in both} == {old: new, new: None}
    assert (await answer(client, "search", query="gate code", as_of="2020-01-01"))["search_id"] is None


async def linked(client: Client, old: int, new: int) -> None:
    assert (await answer(client, "link", source="gate", target=new, relation="supports")) == {"new": True}
    got = await answer(client, "get", memory="gate")
    assert (got["id"], got["superseded_by"], got["tags"]) == (old, new, ["house"])
    links = [(link["relation"], link["other"], link["outgoing"]) for link in got["links"]]
    assert ("supports", new, True) in links


async def planned_and_forgotten(client: Client, new: int) -> None:
    plan = await answer(client, "prune_plan", max_count=5)
    assert (plan["live"], plan["planned"]) == (2, 0)
    assert (await answer(client, "status"))["memories"] == 2
    assert json.loads((await client.read_resource("pgrecall://status")).contents[0].text)["memories"] == 2
    assert (await answer(client, "forget", memory=new)) == {"archived": True}
    nothing = await answer(client, "search", query="gate code since May", authors=["nobody"])
    assert nothing["no_match"]
    assert "leave out authors" in nothing["advice"]


def test_directives_are_listed_and_searched(served: Server) -> None:
    async def scenario() -> None:
        async with connected(served) as client:
            for key, body in (
                ("metric", "Please always use metric units."),
                ("vegan", "I'm vegan, so no cheese in recipes."),
                ("code", "The gate code is 4711."),
            ):
                await answer(client, "remember", body=body, key=key, role="user")
            listed = (await answer(client, "search", directives=True))["hits"]
            assert sorted(hit["key"] for hit in listed) == ["metric", "vegan"]
            found = await answer(client, "search", query="metric units", directives=True)
            assert [hit["key"] for hit in found["hits"]][:1] == ["metric"]
            rule = "From now on, never deploy on a Friday unless Mira says so."
            long = f"We lost a day. {rule} {'It was a bad day for all of us. ' * 90}"
            await answer(client, "remember", body=long, key="friday", role="user")
            cut = (await answer(client, "search", directives=True, max_chars=60))["hits"]
            [friday] = [hit for hit in cut if hit["key"] == "friday"]
            assert (friday["body"], friday["cut"]) == (rule, True)
            told = await answer(client, "context", query="shall I deploy on Friday?", budget_tokens=600)
            assert f"> … {rule} …" in told["text"]
            nothing = await answer(client, "search", query="gate code", directives=True)
            assert nothing["hits"] == []
            assert "leave out directives" in nothing["advice"]

    run(scenario())


def test_a_conversation_completes_a_query(served: Server) -> None:
    async def scenario() -> None:
        async with connected(served) as client:
            await answer(client, "remember", body="The slipway closes at dusk in winter.", key="slipway")
            turns = [{"role": "assistant", "content": "Did you ask when the slipway closes?"}]
            found = await answer(client, "search", query="no, when was that?", conversation=turns)
            assert [hit["key"] for hit in found["hits"]] == ["slipway"]
            told = await answer(client, "context", query="no, when was that?", conversation=turns)
            assert "slipway" in told["text"]

    run(scenario())


def test_a_repeated_text_is_named(served: Server) -> None:
    async def scenario() -> None:
        async with connected(served, "auto") as client:
            first = await answer(client, "remember", body="The gate code is 4711.", key="gate")
            again = await answer(client, "remember", body="The gate code is 4711.")
            assert (again["id"], again["outcome"], again["similar"]) == (first["id"], "unchanged", None)
            near = await answer(client, "remember", body="the gate code is 4711")
            named = {"id": first["id"], "key": "gate", "similarity": 1.0}
            assert (near["outcome"], near["similar"]) == ("created", named)
            other = await answer(client, "remember", body="The gate code is 4712.")
            assert (other["outcome"], other["similar"]) == ("created", None)

    run(scenario())


def test_only_the_tools_that_were_chosen_are_served(database_url: str) -> None:
    chosen = over_stdio(database_url, tenant="acme")
    chosen = chosen.model_copy(update={"args": [*chosen.args, "--tool", "search", "--tool", "remember"]})

    async def scenario() -> None:
        async with connected(chosen, "auto") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "remember"]
            assert (await answer(client, "remember", body="The gate code is 4711."))["outcome"] == "created"
            with pytest.raises(MCPError, match="'forget' is not served; there are search, remember"):
                await client.call_tool("forget", {"memory": 1})

    run(scenario())


def test_the_core_tools_are_served_with_those_that_were_chosen(database_url: str) -> None:
    core = over_stdio(database_url, tenant="acme")
    core = core.model_copy(update={"args": [*core.args, "--tools", "core", "--tool", "get"]})

    async def scenario() -> None:
        async with connected(core, "auto") as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            assert listed == {"search", "context", "remember", "used", "forget", "get"}

    run(scenario())


def test_an_agent_is_told_that_it_stored_a_secret(database_url: str) -> None:
    async def scenario() -> None:
        async with connected(over_stdio(database_url, tenant="acme"), "auto") as client:
            token = "gh" + "p_" + "a1B2" * 9
            told = await answer(client, "remember", body=f"The token of the build is {token}.")
            assert (told["outcome"], told["secrets"]) == ("created", ["GitHub Token"])
            assert (await answer(client, "remember", body="The build takes an hour."))["secrets"] == []

    run(scenario())


def test_prompts_name_the_tools(served: Server) -> None:
    async def scenario() -> None:
        async with connected(served, "auto") as client:
            prompts = {one.name: one for one in (await client.list_prompts()).prompts}
            assert list(prompts) == ["recall", "remember", "review"]
            needed = {
                name: [one.required for one in prompt.arguments or ()] for name, prompt in prompts.items()
            }
            assert needed == {"recall": [True], "remember": [False], "review": [False]}

            async def said(name: str, **given: str) -> str:
                [message] = (await client.get_prompt(name, given)).messages
                assert message.role == "user"
                assert isinstance(message.content, TextContent)
                return message.content.text

            asked = await said("recall", question="What is $5 {x} of the gate?")
            assert asked.endswith("Question: What is $5 {x} of the gate?")
            assert (await said("remember", what="The code is 4711.")).endswith("\n\nThe code is 4711.")
            assert "this conversation" in await said("remember")
            assert "the layers activity" in await said("review", layers="activity")
            texts = [asked, await said("remember"), await said("review")]
            for text, tools in zip(
                texts, (("context", "used"), ("search", "supersede"), ("prune_plan",)), strict=True
            ):
                assert all(f"`{tool}`" in text and tool in TOOLS for tool in tools)
            for name, given, sentence in (
                ("forget", {}, "There is no prompt 'forget'"),
                ("recall", {}, "recall: question is missing"),
                ("recall", {"question": " "}, "recall: question is missing"),
                ("recall", {"question": "x" * 10_001}, "question has more than 10,000 characters"),
                ("review", {"layer": "activity"}, "review: it takes layers only"),
            ):
                with pytest.raises(MCPError, match=sentence):
                    await client.get_prompt(name, given)

    run(scenario())


def test_versions_and_changes(served: Server) -> None:
    async def scenario() -> None:
        async with connected(served, "auto") as client:
            for text in ("The gate code is 4711.", "The gate code is 4712."):
                await answer(client, "remember", body=text, key="gate")
            now, first = (await answer(client, "history", memory="gate"))["versions"]
            assert (first["number"], first["body"], now["written_through"]) == (
                1,
                "The gate code is 4711.",
                "mcp",
            )
            [body] = (await answer(client, "diff", memory="gate", earlier=1))["differences"]
            assert [run["text"] for run in body["words"] if run["change"] != "same"] == ["4711", "4712"]
            assert (await answer(client, "restore", memory="gate", version=1))["outcome"] == "updated"
            assert (await answer(client, "get", memory="gate"))["body"] == "The gate code is 4711."
            changes = await answer(client, "changes", limit=1)
            while changes["more"]:
                changes = await answer(client, "changes", since=changes["cursor"], limit=1)
            assert changes["cursor"] is None or changes["cursor"].count("-") == 2

    run(scenario())


def test_resources(database_url: str) -> None:
    async def read(client: Client, uri: str) -> Any:
        [content] = (await client.read_resource(uri)).contents
        assert content.mime_type == "application/json"
        return json.loads(content.text)

    async def scenario(address: str) -> None:
        async with connected(address) as client:
            stored = await answer(client, "remember", body="Proof for Liv.", key="activity/proof for 100 %?")
            assert [one.uri for one in (await client.list_resources()).resources] == ["pgrecall://status"]
            [template] = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "pgrecall://memory/{+memory}"
            assert (await read(client, "pgrecall://status"))["memories"] == 1
            key = "activity/proof%20for%20100%20%25%3F"
            for name in (str(stored["id"]), key, f"key:{key}"):
                assert (await read(client, f"pgrecall://memory/{name}"))["body"] == "Proof for Liv."
            for uri, sentence in {
                "pgrecall://memory/nowhere": "There is no memory with key 'nowhere'",
                "pgrecall://memory/": "There is no resource",
                "file:///etc/passwd": "There is no resource",
            }.items():
                with pytest.raises(MCPError, match=sentence):
                    await client.read_resource(uri)
            with pytest.raises(MCPError, match=r"There is no tool 'erase'. Choose one of: search, context"):
                await client.call_tool("erase", {})

    with served_over_http(database_url) as address:
        run(scenario(address))


def test_two_clients_at_once(served: Server, query: Query) -> None:
    async def one(name: str) -> None:
        async with connected(served) as client:
            for number in range(10):
                await answer(client, "remember", body=f"{name} saw heron {number}.", key=f"{name}/{number}")
            asked = (answer(client, "search", query=f"{name} heron {number}") for number in range(20))
            found = await asyncio.gather(*asked)
            assert not any(result["no_match"] for result in found)

    async def scenario() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(one("Mira"))
            tasks.create_task(one("Odile"))

    run(scenario())
    assert query("SELECT count(*) FROM recall.memory")[0]["count"] == 20
