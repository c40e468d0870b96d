"""The tools as documents: in the form of OpenAI's API, which many others take, and as MCP lists them."""

from __future__ import annotations

from typing import Any

from pgrecall.tools.catalogue import TOOLS
from pgrecall.tools.json_schema import input_schema, output_schema

Document = dict[str, Any]


def openai_tools() -> list[Document]:
    """For the parameter ``tools`` of a chat completion: each a function with description and parameters."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": input_schema(tool.arguments),
            },
        }
        for tool in TOOLS
    ]


def mcp_tools() -> list[Document]:
    """As an MCP server lists them, for clients that are given tools without asking a server."""
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": input_schema(tool.arguments),
            "outputSchema": output_schema(tool.result),
            "annotations": {
                "title": tool.title,
                "readOnlyHint": tool.reads_only,
                "destructiveHint": tool.destroys,
                "idempotentHint": tool.repeatable or tool.reads_only,
                "openWorldHint": False,
            },
        }
        for tool in TOOLS
    ]
