"""Function calling: what a model sends, and what it is told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pgrecall import AsyncMemory, Memory
from pgrecall.integrations.tools import dispatch, dispatch_async
from pgrecall.settings import Settings
from tests.databases import Query

pytestmark = pytest.mark.in_turns


def dispatched(memory: Memory, name: str, arguments: Any = None) -> Any:
    return json.loads(dispatch(memory, name, arguments))


def test_a_conversation(memory: Memory, query: Query) -> None:
    stored = dispatched(memory, "remember", '{"body": "The gate code is 4711.", "key": "gate"}')
    assert stored["id"] > 0
    assert stored == {**stored, "key": "gate", "outcome": "created", "similar": None, "unread": 0}
    session = memory.session("chat-42")
    found = dispatched(session, "search", {"query": "gate code"})
    assert [hit["body"] for hit in found["hits"]] == ["The gate code is 4711."]
    said = json.dumps({"memories": ["gate"], "search_id": found["search_id"]})
    assert dispatched(session, "used", said) == {"recorded": 1}
    kinds = query("SELECT kind, session_id FROM recall.access WHERE session_id = 'chat-42' ORDER BY kind")
    assert [row["kind"] for row in kinds] == ["retrieval", "used"]
    assert dispatched(memory, "status")["memories"] == dispatched(memory, "status", "")["memories"] == 1


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("erase", "{}", "There is no tool 'erase'. Choose one of: search, "),
        ("search", "{", "The arguments are not JSON: "),
        ("search", "[1]", "The arguments are not a JSON object. "),
        ("context", "{}", "context: query is missing. It takes: query, "),
        ("get", {"memory": "nowhere"}, "There is no memory with key 'nowhere' in this tenant."),
    ],
)
def test_errors_are_returned_to_the_model(name: str, arguments: Any, error: str, memory: Memory) -> None:
    assert dispatched(memory, name, arguments)["error"].startswith(error)


def test_awaited(settings: Settings) -> None:
    async def scenario() -> None:
        async with AsyncMemory(settings=settings) as memory:
            await dispatch_async(memory, "remember", {"body": "The gate code is 4711."})
            found = json.loads(await dispatch_async(memory, "search", '{"query": "gate code"}'))
            assert found["hits"][0]["body"] == "The gate code is 4711."
            refused = json.loads(await dispatch_async(memory, "get", {"memory": "nowhere"}))
            assert "There is no memory" in refused["error"]

    asyncio.run(scenario())
