"""The MCP server: handlers for the tools, resources and prompts, independent of the transport.

A tool that fails returns its error and hint to the agent, which can then try something else. Only an invalid
request is an error of the protocol.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

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
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)
from mcp.types import Tool as ListedTool

from pgrecall import AsyncMemory, __version__
from pgrecall.database.calling_interface import acting_through
from pgrecall.errors import InvalidInput, MemoryNotFound, RecallError
from pgrecall.faces.mcp.prompts import get_prompt, list_prompts
from pgrecall.faces.telemetry.telemetry import Telemetry
from pgrecall.tools.catalogue import INSTRUCTIONS, TOOLS, get_tool, mcp_tools
from pgrecall.tools.read_tools import GET, STATUS
from pgrecall.tools.tool import Tool, call_async

Request = ServerRequestContext[Any, Any]
MemoryForRequest = Callable[[Request], Awaitable[AsyncMemory]]
"""Returns the client for the tenant of a request."""
SessionForRequest = Callable[[Request], str | None]
TurnForRequest = Callable[[Request, AsyncMemory], AbstractAsyncContextManager[object]]
"""Waits until the client of a request may act for its tenant, and holds its turn."""

JSON = "application/json"
STATUS_URI = "pgrecall://status"
MEMORY_URI = "pgrecall://memory/"

RESOURCES = (
    Resource(
        uri=STATUS_URI,
        name="status",
        title="Status of the memory",
        description="Counts by layer and zone, vitality, and alarms that need attention.",
        mime_type=JSON,
    ),
)
RESOURCE_TEMPLATES = (
    ResourceTemplate(
        uri_template=f"{MEMORY_URI}{{+memory}}",
        name="memory",
        title="A memory",
        description="One memory in full, by id or key; pgrecall://memory/key:42 is the one with the key 42.",
        mime_type=JSON,
    ),
)

log = logging.getLogger(__name__)


def build_server(
    memory_for: MemoryForRequest,
    session_for: SessionForRequest,
    telemetry: Telemetry | None = None,
    trace_for: Callable[[Request], object] = lambda _: None,
    turn_for: TurnForRequest = lambda _, __: nullcontext(),
    only: Collection[str] = (),
    reads_only: Callable[[Request], bool] = lambda _: False,
) -> Server[Any]:
    """Builds a server.

    Args:
        memory_for: returns the client that answers a request.
        session_for: returns the session in which a request's searches and accesses are logged.
        telemetry: counts and traces calls; None: only traces.
        trace_for: returns the context of the span that a request belongs to; None: the current one.
        turn_for: bounds how many requests of a tenant run at once.
        only: names of the tools that are served; empty for all.
        reads_only: whether a request may only read: then it is served tools that change nothing, and its
            searches are not logged.
    """
    served = _Served(only, reads_only)
    tools = _Tools(memory_for, session_for, telemetry or Telemetry(), trace_for, turn_for, served)
    resources = _Resources(memory_for, turn_for)
    return Server(
        "pgrecall",
        version=__version__,
        title="pgrecall memory",
        instructions=INSTRUCTIONS,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


@dataclass(frozen=True, slots=True)
class _Served:
    """Which tools a request is served."""

    only: Collection[str]
    reads_only: Callable[[Request], bool]

    def names(self, request: Request) -> Collection[str]:
        reads_only = self.reads_only(request)
        every = (tool for tool in TOOLS if not self.only or tool.name in self.only)
        return [tool.name for tool in every if tool.read_only or not reads_only]


@dataclass(frozen=True, slots=True)
class _Tools:
    """The requests about tools."""

    memory_for: MemoryForRequest
    session_for: SessionForRequest
    telemetry: Telemetry
    trace_for: Callable[[Request], object]
    turn_for: TurnForRequest
    served: _Served

    async def list(self, request: Request, __: PaginatedRequestParams | None) -> ListToolsResult:
        names = self.served.names(request)
        served = [ListedTool.model_validate(tool) for tool in mcp_tools() if tool["name"] in names]
        return ListToolsResult(tools=served)

    async def call(self, request: Request, params: CallToolRequestParams) -> CallToolResult:
        tool = _get_tool(params.name)
        names = self.served.names(request)
        if tool.name not in names:
            raise MCPError(
                INVALID_PARAMS, f"The tool {tool.name!r} is not served; there are {', '.join(names)}."
            )
        try:
            with self.telemetry.call(tool.name, self.trace_for(request)), acting_through("mcp"):
                memory = await self.memory_for(request)
                session = self.session_for(request)
                memory = memory.session(session) if session else memory
                memory = memory.unlogged() if self.served.reads_only(request) else memory
                async with self.turn_for(request, memory):
                    result = await call_async(tool, memory, params.arguments or {}, datetime.now(UTC))
        except RecallError as error:
            return _tool_error(str(error))
        except Exception:  # a bug must fail this call only, not the agent's connection
            log.exception("The tool %s failed", tool.name)
            return _tool_error("The tool failed unexpectedly; the server's log has the reason.")
        document = result.model_dump(mode="json")
        # As text too, for clients that show their model nothing else.
        return CallToolResult(content=[TextContent(text=_compact(document))], structured_content=document)


@dataclass(frozen=True, slots=True)
class _Resources:
    """The requests about resources."""

    memory_for: MemoryForRequest
    turn_for: TurnForRequest

    async def list(self, _: Request, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=[*RESOURCES])

    async def list_templates(
        self, _: Request, __: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[*RESOURCE_TEMPLATES])

    async def read(self, request: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        try:
            memory = await self.memory_for(request)
            async with self.turn_for(request, memory):
                document = await _read_resource(memory, params.uri, datetime.now(UTC))
        except RecallError as error:
            kind = "not_found" if isinstance(error, MemoryNotFound) else "refused"
            raise MCPError(INVALID_PARAMS, str(error), {"uri": params.uri, "kind": kind}) from error
        content = TextResourceContents(uri=params.uri, mime_type=JSON, text=_compact(document))
        return ReadResourceResult(contents=[content])


async def _read_resource(memory: AsyncMemory, uri: str, now: datetime) -> dict[str, Any]:
    if uri == STATUS_URI:
        return (await call_async(STATUS, memory, {}, now)).model_dump(mode="json")
    reference = unquote(uri.removeprefix(MEMORY_URI), errors="replace")
    if not uri.startswith(MEMORY_URI) or not reference:
        raise InvalidInput(
            f"There is no resource {uri!r:.200}.", hint=f"Read {STATUS_URI} or {MEMORY_URI}ID_OR_KEY."
        )
    arguments = {"memory": reference, "max_chars": 1_000_000}
    return (await call_async(GET, memory, arguments, now)).model_dump(mode="json")


def _get_tool(name: str) -> Tool[Any, Any, Any]:
    try:
        return get_tool(name)
    except InvalidInput as error:
        raise MCPError(INVALID_PARAMS, str(error)) from error


def _tool_error(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=message)], is_error=True)


def _compact(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
