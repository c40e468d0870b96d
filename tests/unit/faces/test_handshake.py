"""The first answers of the MCP server over standard input, which it has in a file."""

from __future__ import annotations

import json
import os
import select
from typing import Any

import pytest

from pgrecall import __version__
from pgrecall.errors import InvalidInput
from pgrecall.faces.mcp.handshake import FILE, Handshake
from scripts import handshake as written

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def line(method: object, number: object = 1, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def answered(handshake: Handshake, asked: bytes) -> Any:
    answer = handshake.answer(asked)
    return answer if answer is None else json.loads(answer)


def test_the_file_has_the_words_of_the_sdk() -> None:
    assert FILE.read_text() == written.document(), "run python -m scripts.handshake"


@pytest.mark.parametrize(("asked", "version"), [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")])
def test_a_client_is_greeted_once(asked: str, version: str) -> None:
    handshake = Handshake()
    greeting = answered(handshake, line("initialize", "a", **HELLO | {"protocolVersion": asked}))
    assert greeting["id"] == handshake.initialize == "a"
    assert greeting["result"]["protocolVersion"] == version
    assert greeting["result"]["serverInfo"]["version"] == __version__
    assert answered(handshake, line("initialize", "b", **HELLO)) is None


@pytest.mark.parametrize(
    "asked",
    [
        line("initialize"),
        line("initialize", **HELLO | {"capabilities": None}),
        line("initialize", **HELLO | {"capabilities": {"roots": 7}}),
        line("initialize", **HELLO | {"clientInfo": {"name": "t"}}),
        line("initialize", **HELLO | {"protocolVersion": 2025}),
        line("initialize", None, **HELLO),
        line("initialize", True, **HELLO),
        line("tools/list"),
        line("server/discover"),
        line(["initialize"]),
        b"[" + line("initialize", **HELLO) + b"]",
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": null}',
        b"[" * 100_000,
        b"\xff",
        b"",
    ],
)
def test_what_the_server_might_refuse_is_left_to_it(asked: bytes) -> None:
    handshake = Handshake()
    assert handshake.answer(asked) is None
    assert handshake.initialize is None


def introduced(version: str = "2026-07-28") -> dict[str, Any]:
    meta = "io.modelcontextprotocol/"
    return {
        f"{meta}protocolVersion": version,
        f"{meta}clientInfo": HELLO["clientInfo"],
        f"{meta}clientCapabilities": {},
    }


def test_a_client_that_begins_with_discover_is_answered() -> None:
    handshake = Handshake(["search"])
    found = answered(handshake, line("server/discover", 1, _meta=introduced()))["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] == __version__
    listed = answered(handshake, line("tools/list", 2, _meta=introduced()))["result"]
    assert [tool["name"] for tool in listed["tools"]] == ["search"]
    assert (listed["resultType"], listed["_meta"]) == ("complete", found["_meta"])
    assert handshake.initialize is None


@pytest.mark.parametrize("missing", list(introduced()))
@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_who_does_not_introduce_itself_is_left_to_the_server(method: str, missing: str) -> None:
    meta = {name: value for name, value in introduced().items() if name != missing}
    assert Handshake().answer(line(method, 1, _meta=meta)) is None
    assert Handshake().answer(line(method, 1, _meta=introduced("1999-01-01"))) is None
    assert Handshake().answer(line(method, 1, _meta=introduced(), cursor="x")) is None
    assert Handshake().answer(line("ping", 1, _meta=introduced())) is None


def test_after_the_greeting_lists_are_known() -> None:
    handshake = Handshake(["get", "search"])
    handshake.answer(line("initialize", **HELLO))
    tools = answered(handshake, line("tools/list", _meta={"progressToken": 1}))["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["search", "get"]
    assert answered(handshake, line("ping", 7)) == {"jsonrpc": "2.0", "id": 7, "result": {}}
    assert handshake.answer(line("tools/list", cursor="x")) is None
    assert handshake.answer(line("tools/call", name="status")) is None
    assert handshake.answer(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}') == b""


def test_a_tool_that_does_not_exist() -> None:
    with pytest.raises(InvalidInput, match=r"There is no tool 'find'. Choose one of: search, context"):
        Handshake(["search", "find"])


def test_everything_else_reaches_the_server_in_its_order() -> None:
    """Lines that arrive in pieces too; and after one that it must answer, those that need no server."""
    kept, (asked_at, asking), (told_at, telling) = (os.dup(0), os.dup(1)), os.pipe(), os.pipe()
    handshake = Handshake()
    try:
        os.dup2(asked_at, 0)
        os.dup2(telling, 1)
        handshake.start()
        ready = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
        hello, call = line("initialize", **HELLO) + b"\n", line("tools/call", 3, name="status") + b"\n"
        late = line("ping", 4) + b"\n"
        for piece in (hello[:20], hello[20:] + ready + line("ping", 2) + b"\n" + call[:9], call[9:] + late):
            os.write(asking, piece)
        server = b""
        while server != hello + ready + call + late:
            server += os.read(0, 10_000)
        said = [json.loads(answer)["id"] for answer in os.read(told_at, 100_000).splitlines()]
        assert handshake.finish() == 1
        os.write(asking, b"{")
        assert os.read(0, 10_000) == b"{"
        os.close(asking)
        os.close(asked_at)
        assert os.read(0, 10_000) == b""  # the end is passed on too
        assert said == [1, 2]
        assert select.select([told_at], [], [], 0)[0] == []
    finally:
        os.dup2(kept[0], 0)
        os.dup2(kept[1], 1)
        for end in (*kept, told_at, telling):
            os.close(end)
