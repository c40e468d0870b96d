"""Function calling without MCP: the tools' schemas, and what runs the calls a model makes.

>>> reply = client.chat.completions.create(messages=messages, tools=openai_tools())    # doctest: +SKIP
>>> for call in reply.choices[0].message.tool_calls:                                   # doctest: +SKIP
...     answer = dispatch(memory, call.function.name, call.function.arguments)
...     messages.append({"role": "tool", "tool_call_id": call.id, "content": answer})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from pgrecall import AsyncMemory, Memory
from pgrecall.errors import InvalidInput, RecallError
from pgrecall.tools import call, call_async, tool_named
from pgrecall.tools.formats import openai_tools

__all__ = ["dispatch", "dispatch_async", "openai_tools"]

Arguments = str | Mapping[str, Any] | None


def dispatch(memory: Memory, name: str, arguments: Arguments = None) -> str:
    """Runs one call of a tool; returns the message for the model: JSON.

    What the model did wrong, and what the memory could not do, is in ``error``, so that the model can do
    better; only a defect raises. Give a session of the memory (``memory.session("chat-42")``) to count what
    is used in it.
    """
    try:
        return _told(call(tool_named(name), memory, _parsed(arguments), datetime.now(UTC)))
    except RecallError as error:
        return _refused(error)


async def dispatch_async(memory: AsyncMemory, name: str, arguments: Arguments = None) -> str:
    """The same for the asynchronous client."""
    try:
        return _told(await call_async(tool_named(name), memory, _parsed(arguments), datetime.now(UTC)))
    except RecallError as error:
        return _refused(error)


def _parsed(arguments: Arguments) -> Mapping[str, Any]:
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        read = json.loads(arguments or "{}")
    except ValueError as error:
        raise InvalidInput(f"The arguments are no JSON: {error}.", hint="Send one JSON object.") from error
    if not isinstance(read, dict):
        raise InvalidInput("The arguments are no JSON object.", hint='Send one, such as {"query": "..."}.')
    return read


def _told(result: BaseModel) -> str:
    return json.dumps(result.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))


def _refused(error: RecallError) -> str:
    return json.dumps({"error": str(error)}, ensure_ascii=False)
