"""The protocol's requests, answered by the tools and resources.

A tool that fails returns its sentence and the way out to the agent, which can then do better; what is wrong
with the request itself is an error of the protocol. Nothing ends the server.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
)
from mcp.types import Tool as ListedTool

from pgrecall import AsyncMemory, __version__
from pgrecall.errors import InvalidInput, MemoryNotFound, RecallError
from pgrecall.faces.mcp.resources import MIME_TYPE, RESOURCES, TEMPLATES, document
from pgrecall.tools import INSTRUCTIONS, Tool, call_async, tool_named
from pgrecall.tools.formats import mcp_tools

Request = ServerRequestContext[Any, Any]
MemoryOf = Callable[[Request], Awaitable[AsyncMemory]]
"""The client that answers a request: its tenant is whoever asks."""
SessionOf = Callable[[Request], str | None]

log = logging.getLogger(__name__)


def make_server(memory_of: MemoryOf, session_of: SessionOf) -> Server[Any]:
    """A server whose requests are answered by the memory that ``memory_of`` names.

    Args:
        session_of: the session that uses and searches of a request are counted in.
    """

    async def list_tools(_: Request, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[ListedTool.model_validate(tool) for tool in mcp_tools()])

    async def call_tool(request: Request, asked: CallToolRequestParams) -> CallToolResult:
        tool = _tool(asked.name)
        try:
            memory = await memory_of(request)
            session = session_of(request)
            memory = memory.session(session) if session else memory
            result = await call_async(tool, memory, asked.arguments or {}, datetime.now(UTC))
        except RecallError as error:
            return _failed(str(error))
        except Exception:  # a defect must cost this one call, not the agent its memory
            log.exception("The tool %s failed", tool.name)
            return _failed("The memory failed while answering this; its log says why. Try something else.")
        return _answered(result.model_dump(mode="json"))

    async def list_resources(_: Request, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=list(RESOURCES))

    async def list_templates(_: Request, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def read_resource(request: Request, asked: ReadResourceRequestParams) -> ReadResourceResult:
        try:
            found = await document(await memory_of(request), asked.uri, datetime.now(UTC))
        except RecallError as error:
            raise _protocol_error(error, asked.uri) from error
        shown = TextResourceContents(uri=asked.uri, mime_type=MIME_TYPE, text=_text(found))
        return ReadResourceResult(contents=[shown])

    return Server(
        "pgrecall",
        version=__version__,
        title="pgrecall memory",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _tool(name: str) -> Tool[Any, Any, Any]:
    try:
        return tool_named(name)
    except InvalidInput as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error


def _answered(document: dict[str, Any]) -> CallToolResult:
    """As structured content, and as text for clients that show their model nothing else."""
    return CallToolResult(content=[TextContent(text=_text(document))], structured_content=document)


def _failed(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=sentence)], is_error=True)


def _protocol_error(error: RecallError, uri: str) -> MCPError:
    """A resource has no other way to say what is wrong."""
    kind = "not_found" if isinstance(error, MemoryNotFound) else "refused"
    return MCPError(INVALID_PARAMS, str(error), {"uri": uri, "kind": kind})


def _text(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
