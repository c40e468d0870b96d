"""Writes what the MCP server answers before its libraries are imported, in the words of the SDK.

python -m scripts.handshake
python -m scripts.handshake --check    fails if the file is out of date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest, JSONRPCResponse
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from pgrecall import AsyncMemory
from pgrecall.faces.mcp.handshake import FILE, LISTS
from pgrecall.faces.mcp.server import Request, build_server

CLIENT = {"capabilities": {}, "clientInfo": {"name": "scripts.handshake", "version": "1"}}


def older(method: str, version: str) -> dict[str, Any]:
    """The parameters of a request of a client that begins with ``initialize``."""
    return CLIENT | {"protocolVersion": version} if method == "initialize" else {}


def newer(_: str, version: str) -> dict[str, Any]:
    """The parameters of a request of a client that begins with ``server/discover``."""
    return {
        "_meta": {
            PROTOCOL_VERSION_META_KEY: version,
            CLIENT_INFO_META_KEY: CLIENT["clientInfo"],
            CLIENT_CAPABILITIES_META_KEY: CLIENT["capabilities"],
        }
    }


async def results(
    version: str, methods: Sequence[str], params: Callable[[str, str], dict[str, Any]]
) -> dict[str, Any]:
    """The results of the requests, by method, in a version of the protocol."""
    server = build_server(_no_memory, lambda _: None)
    ask, asked = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    say, said = anyio.create_memory_object_stream[SessionMessage](1)
    found = {}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, asked, say, server.create_initialization_options())
        async with ask, said:
            for method in methods:
                request = JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params=params(method, version))
                await ask.send(SessionMessage(request))
                answer = (await said.receive()).message
                assert isinstance(answer, JSONRPCResponse), answer
                found[method] = answer.result
            tasks.cancel_scope.cancel()
    return found


async def _no_memory(_: Request) -> AsyncMemory:
    raise AssertionError("a list needs no memory")


def document() -> str:
    """The text of the file. All versions give the same answers; the newer adds the same fields to lists."""
    asked = ("initialize", *LISTS, "ping")
    first, *others = (anyio.run(results, version, asked, older) for version in HANDSHAKE_PROTOCOL_VERSIONS)
    for found in (first, *others):
        del found["initialize"]["serverInfo"]["version"], found["initialize"]["protocolVersion"]
    assert all(other == first for other in others)
    (version,) = MODERN_PROTOCOL_VERSIONS
    answers = anyio.run(results, version, ("server/discover", *LISTS), newer)
    discovered = answers["server/discover"]
    added = sorted(answers["tools/list"].keys() - first["tools/list"].keys())
    extra = {name: discovered[name] for name in added}
    assert all(answers[method] == first[method] | extra for method in LISTS)
    del discovered["_meta"][SERVER_INFO_META_KEY]["version"]
    known = {
        "versions": HANDSHAKE_PROTOCOL_VERSIONS, "results": first, "discovered": discovered, "added": added,
    }  # fmt: skip
    return json.dumps(known, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    if "--check" not in sys.argv[1:]:
        FILE.write_text(document())
    elif FILE.read_text() != document():
        sys.exit("Run python -m scripts.handshake")
