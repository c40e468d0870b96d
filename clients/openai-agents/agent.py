"""An agent with a memory: tools for the OpenAI Agents SDK.

    async with AsyncMemory() as memory:
        agent = Agent(name="Helper", instructions=INSTRUCTIONS, tools=memory_tools(memory))
        result = await Runner.run(agent, "Who mends the winch?")

What the model says it used is recorded, so that it ranks higher in the next search. Pass
`memory.session("chat-42")` for one conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents import FunctionTool

from pgrecall import AsyncMemory
from pgrecall.integrations.tools import dispatch_async, openai_tools
from pgrecall.tools.catalogue import INSTRUCTIONS

__all__ = ["INSTRUCTIONS", "memory_tools"]

CORE = ("context", "search", "remember", "used", "forget")
"""The tools that every conversation needs. Each more costs every request its description."""


def memory_tools(memory: AsyncMemory, names: Sequence[str] = CORE) -> list[FunctionTool]:
    """These tools of pgrecall; an error is told to the model, with its hint. Raises KeyError for another."""
    described = {tool["function"]["name"]: tool["function"] for tool in openai_tools()}
    return [_tool(memory, described[name]) for name in names]


def _tool(memory: AsyncMemory, described: dict[str, Any]) -> FunctionTool:
    async def invoke(_context: object, arguments: str) -> str:
        return await dispatch_async(memory, described["name"], arguments)

    return FunctionTool(
        name=described["name"],
        description=described["description"],
        params_json_schema=described["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=False,  # most arguments may be left out
    )
