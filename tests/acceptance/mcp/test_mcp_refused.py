"""Bad input at every tool: a message for the agent, no partial change, and the server keeps running."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pgrecall.embedded.shared_server import EmbeddedServer
from tests.acceptance.mcp.mcp_tools import (
    TOOLS,
    answer,
    connected,
    over_stdio,
    refusal,
    run,
    served_over_http,
)
from tests.databases import new_database as database_of

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    # One for each tool, and of each class: invalid arguments, InvalidInput, MemoryNotFound.
    "search": ({"query": "gate", "layers": ["nowhere"]}, "The layer 'nowhere' is unknown. Choose one of: "),
    "context": ({"query": ""}, "The query is empty."),
    "get": ({"memory": "nowhere"}, "There is no memory with key 'nowhere'"),
    "remember": ({"body": "a", "occurred_at": "soon"}, "occurred_at: 'soon' is not a date"),
    "used": ({"memories": [1, 999]}, "There is no memory with id 999"),
    "link": ({"source": "gate", "target": "gate"}, "cannot link to itself"),
    "supersede": ({"old": "gate"}, "new is missing"),
    "forget": ({"memory": "gate", "hard": True}, "there is no argument 'hard'. It takes: memory."),
    "prune_plan": ({"max_share": 0}, "max_share is 0 but must be greater than 0"),
    "history": ({"memory": "nowhere"}, "There is no memory with key 'nowhere'"),
    "diff": ({"memory": "gate", "earlier": 7}, "has no version 7; the current one is 1."),
    "restore": ({"memory": "gate", "version": 0}, "version is 0 but must be at least"),
    "changes": ({"since": "yesterday"}, "'yesterday' is not a cursor of changes."),
    "dedupe_plan": ({"max_count": 0}, "max_count is 0 but must be at least 1"),
    "status": ({"tenant": "other"}, "there is no argument 'tenant'. It takes: no arguments."),
}


@pytest.fixture(scope="module")
def served(server: EmbeddedServer, template: str) -> Iterator[tuple[str, str]]:
    """The address of a server for all tests of this file, and the URL of its database."""
    for url in database_of(server, template):
        with served_over_http(url, tenant="acme") as address:
            yield address, url


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_bad_input_is_a_tool_error_and_changes_nothing(transport: str, served: tuple[str, str]) -> None:
    address, url = served

    def stored() -> list[Any]:
        with psycopg.connect(url) as connection:
            tables = ("memory", "link", "pending_link", "activation", "plan")
            return [
                connection.execute(f"SELECT * FROM recall.{table} ORDER BY 1, 2").fetchall()
                for table in tables
            ]

    async def scenario() -> None:
        async with connected(over_stdio(url, tenant="acme") if transport == "stdio" else address) as client:
            await answer(client, "remember", body="The gate code is 4711.", key="gate")
            await answer(client, "remember", body="The house by the gate.", key="house")
            before = stored()
            for tool in TOOLS:
                arguments, message = REFUSED[tool]
                refused = await refusal(client, tool, **arguments)
                assert message in refused
                assert "Traceback" not in refused
            assert stored() == before
            assert not (await answer(client, "search", query="gate code"))["no_match"]

    run(scenario())


def test_strange_texts_are_kept_as_they_are(served: tuple[str, str]) -> None:
    strange = "\x1b[31mred\x07\u202e \U0001f980 \ufffe ' ; DROP TABLE recall.memory; -- \r\n{{7*7}}"

    async def scenario() -> None:
        async with connected(served[0]) as client:
            await answer(client, "remember", body=strange, key="a/../b?c#d", tags=[strange], title=strange)
            got = await answer(client, "get", memory="a/../b?c#d")
            assert (got["body"], got["title"], got["tags"]) == (strange, strange, [strange])
            [hit] = (await answer(client, "search", query="red 🦀 DROP TABLE", tags=[strange]))["hits"]
            assert hit["body"] == strange
            long = await answer(client, "remember", body="lantern " * 100_000, key="long")
            assert long["outcome"] == "created"
            hit = (await answer(client, "search", query="lantern", max_chars=80))["hits"][0]
            assert (len(hit["body"]), hit["cut"]) == (80, True)

    run(scenario())


def test_lists_and_objects_may_come_as_text(served: tuple[str, str]) -> None:
    """Some clients send them so."""

    async def scenario() -> None:
        async with connected(served[0]) as client:
            sent = {"tags": '["house", "gate"]', "links": '[{"target": "b"}]', "metadata": '{"n": 1}'}
            await answer(client, "remember", body="a", key="42", **sent)
            got = await answer(client, "get", memory="key:42")
            assert (got["tags"], got["metadata"]) == (["house", "gate"], {"n": 1})
            found = await answer(client, "search", query="a house", metadata='{"n": 1}')
            assert [hit["key"] for hit in found["hits"]] == ["42"]
            assert (await answer(client, "search", query="a house", sources="elsewhere"))["no_match"]
            assert (await answer(client, "used", memories='["key:42"]'))["recorded"] == 1
            assert (await answer(client, "used", memories=str(got["id"])))["recorded"] == 1
            assert (await answer(client, "search", query="lantern", layers="activity"))["no_match"]

    run(scenario())
