"""The server as an editor's child: its beginning, what is on its standard output, and its end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from mcp import Client

from pgrecall.errors import install_command
from pgrecall.schema import migrate
from tests.acceptance.cli.command_tools import environment, whole_command_line
from tests.acceptance.http.http_tools import memories_locked, waiting
from tests.acceptance.mcp.mcp_tools import (
    TOOLS,
    answer,
    command,
    connected,
    eventually,
    over_stdio,
    refusal,
    run,
)
from tests.conftest import DIMENSIONS
from tests.waiting import PATIENCE

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


class Child:
    """A server whose lines are written and read one by one."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.said: list[bytes] = []
        self._number = 0

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    def write(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def send(self, method: str, **params: Any) -> int:
        self._number += 1
        asked = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.write(json.dumps(asked).encode())
        return self._number

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request; other lines on the way must be of the protocol too."""
        number = self.send(method, **params)
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            self.said.append(line)
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == number:
                return message["result"]
        raise AssertionError("it ended without an answer")

    def greet(self) -> None:
        assert self.ask("initialize", **HELLO)["serverInfo"]["name"] == "pgrecall"
        self.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def ended(self) -> tuple[int, bytes, str]:
        """Its exit code, what was left on its standard output, and its standard error."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err.decode()


@contextmanager
def child(**settings: str) -> Iterator[Child]:
    with subprocess.Popen(
        command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tenant="acme", **settings),
    ) as process:
        try:
            yield Child(process)
        finally:
            process.kill()


def test_it_ends_when_its_client_closes_standard_input(database_url: str) -> None:
    with child(database_url=database_url) as server:
        server.greet()
        stored = server.ask("tools/call", name="remember", arguments={"body": "The gate code is 4711."})
        assert stored["structuredContent"]["outcome"] == "created"
        server.stdin.close()
        server.process.stdin = None
        assert server.ended() == (0, b"", "")


def test_it_ends_before_anything_was_asked(database_url: str) -> None:
    with child(database_url=database_url) as server:
        assert server.ended()[0] == 0


@pytest.mark.parametrize("how", ["standard input ends", "SIGTERM", "SIGINT"])
def test_what_it_was_doing_ends_with_it(how: str, database_url: str) -> None:
    with child(database_url=database_url) as server:
        server.greet()
        with memories_locked(database_url):
            server.send("tools/call", name="search", arguments={"query": "gate"})
            run(eventually(lambda: waiting(database_url) == 1, "the search waits"))
            if how == "standard input ends":
                server.stdin.close()
                server.process.stdin = None
            else:
                server.process.send_signal(signal.Signals[how])
                server.process.wait(timeout=PATIENCE)  # its standard input is still open
            code, out, err = server.ended()
            run(eventually(lambda: waiting(database_url) == 0, "nobody waits"))
        assert code == {"standard input ends": 0, "SIGTERM": 143, "SIGINT": 130}[how]
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
        assert "Traceback" not in err


def test_lines_that_are_no_messages_do_no_harm(database_url: str) -> None:
    with child(database_url=database_url) as server:
        server.greet()
        for line in (b"hello", b"{", b"[]", b"\xff\xfe\x00", b'{"jsonrpc": "2.0"}', b"", b"[" * 100_000):
            server.write(line)
        server.write(b'{"jsonrpc": "2.0", "id": null, "method": "tools/call", "params": [1, 2]}')
        server.write(b'{"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": 7}}')
        server.write(
            b'{"jsonrpc": "2.0", "id": "y", "method": "tools/call",'
            b' "params": {"name": "search", "arguments": {"query": "\\ud800"}}}'
        )
        found = server.ask("tools/call", name="search", arguments={"query": "gate"})
        assert found["structuredContent"]["no_match"]
        server.stdin.close()
        server.process.stdin = None
        code, out, err = server.ended()
        assert (code, out) == (0, b"")
        assert "Traceback" not in err


NUMBER = b"9" * 5000
"""More digits than Python reads."""


OBJECT = b'{"jsonrpc": "2.0", "id": 7, "method": '


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (b"hello", None, -32700),
        (OBJECT + b'"tools/call", "params": {"name": "get", "memory": ' + NUMBER + b"}}", None, -32700),
        (b"[" + OBJECT + b'"tools/list"}]', None, -32600),
        (b"7", None, -32600),
        (b'{"jsonrpc": "1.0", "id": 7, "method": "tools/list"}', 7, -32600),
        (b'{"id": "seven", "method": "tools/list"}', "seven", -32600),
        (OBJECT + b"3}", 7, -32600),
        (OBJECT + b'"tools/call", "params": [1, 2]}', 7, -32600),
        (b'{"jsonrpc": "1.0", "id": true, "method": "tools/list"}', None, -32600),
        (b'{"jsonrpc": "1.0", "id": 7, "result": {}}', None, -32600),
    ],
    ids=[
        "no JSON", "a long number", "a batch", "no object", "an older version", "no version",
        "a number as method", "a list of params", "no id of JSON-RPC", "a response",
    ],
)  # fmt: skip
def test_a_line_that_is_no_message_is_answered(
    line: bytes, number: int | str | None, code: int, database_url: str
) -> None:
    """Whoever sent it as a request would wait forever otherwise. It has the line's id, if it can be read."""
    with child(database_url=database_url) as server:
        server.greet()
        server.said.clear()
        server.write(line)
        server.ask("ping")
        assert server.process.stdout is not None
        refused = json.loads(server.said[0])
        assert (refused["id"], refused["error"]["code"]) == (number, code)
        assert "no message of JSON-RPC 2.0" in refused["error"]["message"]


@pytest.mark.parametrize("busy", [False, True])
def test_a_client_that_reads_no_more_ends_it_quietly(busy: bool, database_url: str) -> None:
    with child(database_url=database_url) as server:
        server.greet()
        assert server.process.stdout is not None
        assert server.process.stderr is not None
        with memories_locked(database_url):
            if busy:
                server.send("tools/call", name="search", arguments={"query": "gate"})
                run(eventually(lambda: waiting(database_url) == 1, "the search waits"))
            server.process.stdout.close()
            code = server.process.wait(timeout=PATIENCE)  # its standard input is still open
            run(eventually(lambda: waiting(database_url) == 0, "nobody waits"))
        assert (code, server.process.stderr.read()) == (0, b"")


def test_a_call_that_is_cancelled_is_cancelled_in_postgres(database_url: str) -> None:
    with child(database_url=database_url) as server:
        server.greet()
        with memories_locked(database_url):
            number = server.send("tools/call", name="search", arguments={"query": "gate"})
            run(eventually(lambda: waiting(database_url) == 1, "the search waits"))
            cancelled = {"requestId": number, "reason": "the user pressed Escape"}
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}
            server.write(json.dumps(message).encode())
            run(eventually(lambda: waiting(database_url) == 0, "nobody waits"))
        assert server.ask("tools/call", name="status", arguments={})["structuredContent"]["memories"] == 0


def test_a_database_that_is_made_later(empty_database: str) -> None:
    async def scenario() -> None:
        async with connected(over_stdio(empty_database)) as client:
            assert len((await client.list_tools()).tools) == len(TOOLS)
            assert "pgrecall init" in await refusal(client, "search", query="gate")
            assert "pgrecall init" in await refusal(client, "status")
            migrate.upgrade(empty_database, dimensions=DIMENSIONS)
            assert (await answer(client, "search", query="gate"))["no_match"]

    run(scenario())


def test_a_database_that_is_not_there() -> None:
    async def scenario() -> None:
        nowhere = over_stdio("postgresql://127.0.0.1:1/none", connect_timeout="1")
        async with connected(nowhere) as client:
            for tool, arguments in (
                ("search", {"query": "gate"}),
                ("remember", {"body": "a"}),
                ("status", {}),
            ):
                said = await refusal(client, tool, **arguments)
                assert "127.0.0.1" in said, said
                assert "Traceback" not in said

    run(scenario())


def test_without_a_database_it_starts_one_of_its_own(open_folder: Path) -> None:
    async def scenario(client: Client) -> None:
        assert (await answer(client, "remember", body="The gate code is 4711.", key="gate"))["id"] == 1
        assert not (await answer(client, "search", query="gate code"))["no_match"]

    async def twice() -> None:
        server = over_stdio("", data_dir=str(open_folder / "data"))
        assert server.env is not None
        del server.env["PGRECALL_DATABASE_URL"]
        async with connected(server) as one, connected(server) as other:
            await scenario(one)
            assert (await answer(other, "get", memory="gate"))["body"] == "The gate code is 4711."

    run(twice())


def test_without_the_sdk_it_says_what_to_install(database_url: str) -> None:
    hidden = "import sys; sys.modules['mcp'] = None; from pgrecall.faces.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", hidden, "mcp"],
        env=environment(database_url=database_url),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"Error: mcp is not installed. Install it with: {install_command('mcp')}\n"


def test_it_greets_before_it_imports_what_takes_seconds(tmp_path: Path) -> None:
    """Here the SDK is one whose import never ends: an editor has the list of tools all the same."""
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp/__init__.py").write_text(f"import time\ntime.sleep({PATIENCE})\n")
    with subprocess.Popen(
        whole_command_line("mcp"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment() | {"PYTHONPATH": str(tmp_path)},
    ) as process:
        try:
            server = Child(process)
            server.greet()
            assert [tool["name"] for tool in server.ask("tools/list")["tools"]] == TOOLS
        finally:
            process.kill()
