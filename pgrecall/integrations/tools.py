"""Function calling without MCP: the schemas of the tools, and the dispatch of a model's calls.

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
from pgrecall.tools.catalogue import get_tool, openai_tools
from pgrecall.tools.tool import call, call_async

__all__ = ["dispatch", "dispatch_async", "openai_tools"]

Arguments = str | Mapping[str, Any] | None


def dispatch(memory: Memory, name: str, arguments: Arguments = None) -> str:
    """Calls a tool; returns the JSON message for the model.

    Errors of the package become ``{"error": ...}``, so that the model can correct itself. Pass a session of
    the client (``memory.session("chat-42")``) to log accesses in it.
    """
    try:
        return _result(call(get_tool(name), memory, _parse(arguments), datetime.now(UTC)))
    except RecallError as error:
        return _error(error)


async def dispatch_async(memory: AsyncMemory, name: str, arguments: Arguments = None) -> str:
    """Like :func:`dispatch`, for the asynchronous client."""
    try:
        return _result(await call_async(get_tool(name), memory, _parse(arguments), datetime.now(UTC)))
    except RecallError as error:
        return _error(error)


def _parse(arguments: Arguments) -> Mapping[str, Any]:
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        parsed = json.loads(arguments or "{}")
    except ValueError as error:
        raise InvalidInput(f"The arguments are not JSON: {error}.", hint="Send one JSON object.") from error
    if not isinstance(parsed, dict):
        raise InvalidInput("The arguments are not a JSON object.", hint='Send one, such as {"query": "..."}.')
    return parsed


def _result(result: BaseModel) -> str:
    return json.dumps(result.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))


def _error(error: RecallError) -> str:
    return json.dumps({"error": str(error)}, ensure_ascii=False)
