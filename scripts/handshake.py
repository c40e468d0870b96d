"""Writes what the MCP server answers before its libraries are imported, in the words of the SDK.

python -m scripts.handshake
python -m scripts.handshake --check    fails if the file is out of date
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest, JSONRPCResponse
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from pgrecall import AsyncMemory
from pgrecall.faces.mcp.handshake import FILE
from pgrecall.faces.mcp.server import Request, build_server

LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "ping")
CLIENT = {"capabilities": {}, "clientInfo": {"name": "scripts.handshake", "version": "1"}}


async def results(version: str) -> dict[str, Any]:
    """The results of the requests, by method, in a version of the protocol."""
    server = build_server(_no_memory, lambda _: None)
    ask, asked = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    say, said = anyio.create_memory_object_stream[SessionMessage](1)
    found = {}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, asked, say, server.create_initialization_options())
        async with ask, said:
            for method in ("initialize", *LISTS):
                params = CLIENT | {"protocolVersion": version} if method == "initialize" else {}
                request = JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params=params)
                await ask.send(SessionMessage(request))
                answer = (await said.receive()).message
                assert isinstance(answer, JSONRPCResponse), answer
                found[method] = answer.result
            tasks.cancel_scope.cancel()
    del found["initialize"]["serverInfo"]["version"], found["initialize"]["protocolVersion"]
    return found


async def _no_memory(_: Request) -> AsyncMemory:
    raise AssertionError("a list needs no memory")


def document() -> str:
    """The text of the file. All versions have the same answers."""
    first, *others = (anyio.run(results, version) for version in HANDSHAKE_PROTOCOL_VERSIONS)
    assert all(other == first for other in others)
    known = {"versions": HANDSHAKE_PROTOCOL_VERSIONS, "results": first}
    return json.dumps(known, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    if "--check" not in sys.argv[1:]:
        FILE.write_text(document())
    elif FILE.read_text() != document():
        sys.exit("Run python -m scripts.handshake")
