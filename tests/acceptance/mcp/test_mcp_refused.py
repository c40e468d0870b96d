"""Bad input at every tool: a sentence for the agent, nothing half done, and the server goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from mcp import Client

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
from tests.conftest import _database as database_of

HUGE = 10**30
REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "search": [
        ({}, "The query is empty. Ask with at least one word"),
        ({"query": ""}, "The query is empty. Ask with at least one word"),
        ({"query": "gate", "queries": ["x"] * 17}, "queries is ['x'"),
        ({"query": "gate", "as_of": "9999-01-01"}, "which is still to come. Give a past moment."),
        ({"query": " \n\t"}, "The query is empty."),
        ({"query": 7}, "query is 7: input should be a valid string"),
        ({"query": "x" * 20_000}, "query is 'xxxx"),
        ({"query": "a\x00b"}, "The query holds a NUL character. Remove it."),
        ({"query": "gate", "k": 0}, "k is 0: input should be greater than or equal to 1"),
        ({"query": "gate", "k": HUGE}, "k is 1000"),
        ({"query": "gate", "k": "many"}, "k is 'many': input should be a valid integer"),
        ({"query": "gate", "colour": "red"}, "there is no argument 'colour'"),
        ({"query": "gate", "layers": ["nowhere"]}, "The layer 'nowhere' is unknown. There are: "),
        ({"query": "gate", "layers": []}, "layers is []: list should have at least 1 item"),
        ({"query": "gate", "tags": [3]}, "tags.0 is 3: input should be a valid string"),
        ({"query": "gate", "since": "soon"}, "since: 'soon' is not a date; write it as 2026-09-30"),
        ({"query": "gate", "since": "1d", "until": "2020-01-01"}, "The time window is empty"),
        ({"query": "gate", "min_relevance": 2}, "min_relevance is 2: input should be less than"),
        ({"query": "gate", "min_relevance": "nan"}, "min_relevance is 'nan'"),
    ],
    "context": [
        ({"query": ""}, "The query is empty."),
        ({"query": "gate", "budget_tokens": 1}, "budget_tokens is 1: input should be greater than"),
        ({"query": "gate", "per_layer": {"nowhere": 1}}, "The layer 'nowhere' is unknown."),
        ({"query": "gate", "per_layer": {"activity": -1}}, "per_layer.activity is -1"),
        ({"query": "gate", "order": "random"}, "order is 'random': input should be 'score' or 'time'"),
    ],
    "get": [
        ({}, "get: memory is missing. It takes: memory"),
        ({"memory": 999}, "There is no memory with id 999 in this tenant."),
        ({"memory": "nowhere"}, "There is no memory with key 'nowhere'"),
        ({"memory": "9" * 40}, "There is no memory with key '9999"),
        ({"memory": HUGE}, "memory is 1000"),
        ({"memory": -1}, "There is no memory with id -1"),
        ({"memory": None}, "memory is None: give an id, a whole number, or a key, a text"),
        ({"memory": {"id": 1}}, "memory is {'id': 1}: give an id"),
        ({"memory": "a\x00b"}, "The key holds a NUL character."),
    ],
    "remember": [
        ({}, "remember: body is missing."),
        ({"body": ""}, "cannot be stored: it has neither a title nor a body."),
        ({"body": "x" * 1_000_001}, "body is 'xxxx"),
        ({"body": "a\x00b"}, "A text holds a NUL character."),
        ({"body": "a", "layer": "nowhere"}, "its layer 'nowhere' is unknown; there are "),
        ({"body": "a", "role": "king"}, "role is 'king': input should be 'user', 'assistant'"),
        ({"body": "a", "metadata": "words"}, "metadata is ['words']: input should be a valid dictionary"),
        (
            {"body": "a", "links": [{"to": "b"}]},
            "links.0.target is missing; there is no argument 'links.0.to'",
        ),
        (
            {"body": "a", "links": [{"target": "b", "relation": "loves"}]},
            "its link relation 'loves' is unknown",
        ),
        ({"body": "a", "occurred_at": "9999-01-01"}, "lies in the future; give valid_from"),
        ({"body": "a", "valid_until": "tomorrow"}, "valid_until: 'tomorrow' is not a date"),
    ],
    "used": [
        ({"memories": []}, "memories is []: list should have at least 1 item"),
        ({"memories": [1, 999]}, "999"),
        ({"memories": ["gate", ["x"]]}, "memories.1 is ['x']: give an id"),
        ({"memories": ["gate"], "search_id": 999}, "999"),
        ({"memories": ["gate"], "search_id": "last"}, "search_id is 'last': input should be a valid integer"),
    ],
    "link": [
        ({"source": "gate", "target": "nowhere"}, "There is no memory with key 'nowhere'"),
        ({"source": "gate", "target": "gate"}, "cannot link to itself"),
        ({"source": "gate", "target": "house", "relation": "loves"}, "The link relation 'loves' is unknown."),
        ({"source": "gate", "target": "house", "weight": 0}, "weight is 0: input should be greater than 0"),
    ],
    "supersede": [
        ({"old": "gate", "new": "gate"}, "cannot supersede itself"),
        ({"old": "gate"}, "new is missing"),
        ({"old": 999, "new": "gate"}, "There is no memory with id 999"),
    ],
    "forget": [
        ({"memory": "nowhere"}, "There is no memory with key 'nowhere'"),
        ({"memory": "gate", "hard": True}, "there is no argument 'hard'. It takes: memory."),
    ],
    "prune_plan": [
        ({"max_share": 0}, "max_share is 0: input should be greater than 0"),
        ({"layers": ["nowhere"]}, "There is no layer 'nowhere'."),
        ({"grace_days": "long"}, "grace_days is 'long': input should be a valid number"),
    ],
    "status": [({"tenant": "other"}, "there is no argument 'tenant'. It takes: no arguments.")],
}


async def refuses(client: Client, tool: str) -> None:
    for arguments, sentence in REFUSED[tool]:
        said = await refusal(client, tool, **arguments)
        assert sentence in said, said
        assert len(said) < 700
        assert "Traceback" not in said


def test_every_tool_is_given_bad_input() -> None:
    assert list(REFUSED) == TOOLS


@pytest.fixture(scope="module")
def served(server: EmbeddedServer, template: str) -> Iterator[tuple[str, str]]:
    """The address of a server for all tests of this file, and the URL of its database."""
    for url in database_of(server, template):
        with served_over_http(url, tenant="acme") as address:
            yield address, url


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_bad_input_is_refused_in_a_sentence(transport: str, served: tuple[str, str]) -> None:
    address, url = served

    def stored() -> list[Any]:
        with psycopg.connect(url) as connection:
            tables = ("memory", "link", "pending_link", "activation", "prune_plan")
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
                await refuses(client, tool)
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
