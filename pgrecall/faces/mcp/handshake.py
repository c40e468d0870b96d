"""The first answers of the server over standard input: what the others need takes seconds to import.

An editor starts the server, asks `initialize` and the lists, and waits. Their answers are always the same:
they are in handshake.json, which ``python -m scripts.handshake`` writes with the answers of the SDK. So this
module imports the standard library alone.

A pipe takes the place of standard input. A thread answers what it knows and passes everything else on through
the pipe, where the SDK finds it. ``initialize`` is passed on too, as the SDK must know the client; its second
answer is dropped. A client of the newer protocol asks ``server/discover`` instead, and introduces itself in
every request.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any, BinaryIO

from pgrecall import __version__
from pgrecall.errors import InvalidInput

FILE = Path(__file__).with_name("handshake.json")

LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")

CORE = ("search", "context", "remember", "used", "forget")
"""The tools that an agent needs in every conversation; the schemas of all take twice as much of a request."""

_CHUNK = 65_536
_META = "io.modelcontextprotocol/"


class Handshake:
    """Answers the first requests of a client, up to one that it does not know, or until it is finished.

    Args:
        only: names of the tools that are listed; empty for all.

    Raises:
        InvalidInput: one of them does not exist.
    """

    def __init__(self, only: Collection[str] = ()) -> None:
        known: dict[str, Any] = json.loads(FILE.read_bytes())
        self._versions: list[str] = known["versions"]
        self._results: dict[str, Any] = known["results"]
        self._discovered: dict[str, Any] = known["discovered"]
        self._added = {name: self._discovered[name] for name in known["added"]}
        self._results["initialize"]["serverInfo"]["version"] = __version__
        self._discovered["_meta"][f"{_META}serverInfo"]["version"] = __version__
        tools = self._results["tools/list"]["tools"]
        names = [tool["name"] for tool in tools]
        for name in only:
            if name not in names:
                raise InvalidInput(
                    f"There is no tool {name!r:.100}.", hint=f"Choose one of: {', '.join(names)}."
                )
        self._results["tools/list"] = {"tools": [tool for tool in tools if not only or tool["name"] in only]}
        self._turn = Lock()
        self._over = False
        self.initialize: int | str | None = None
        """The id of the request ``initialize`` that was answered."""

    def start(self) -> None:
        """Begins to answer. From now on, file descriptor 0 is the pipe."""
        given, (end, pipe) = os.dup(0), os.pipe()
        os.dup2(end, 0)
        os.close(end)
        Thread(target=self._relay, args=(given, os.dup(1), pipe), daemon=True).start()

    def finish(self) -> int | str | None:
        """Leaves all further requests to the server, which may write from now on.

        Returns the id of the ``initialize`` that was answered, if one was.
        """
        with self._turn:
            self._over = True
        return self.initialize

    def answer(self, line: bytes) -> bytes | None:
        """The line that answers a request; empty for a notification; None if the server has to answer."""
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(request, dict) or request.get("jsonrpc") != "2.0":
            return None
        number, method, params = request.get("id"), request.get("method"), request.get("params", {})
        if "id" not in request and isinstance(method, str):
            return b""
        if type(number) not in (int, str) or not isinstance(method, str) or not isinstance(params, dict):
            return None
        if method == "initialize" and self.initialize is None and _is_complete(params):
            self.initialize = number
            asked = params["protocolVersion"]
            version = asked if asked in self._versions else self._versions[-1]
            result = self._results[method] | {"protocolVersion": version}
        elif method == "server/discover" and self._is_introduced(params):
            result = self._discovered
        elif method in LISTS and self.initialize is None and self._is_introduced(params):
            result = self._results[method] | self._added
        elif method in self._results and self.initialize is not None and params.keys() <= {"_meta"}:
            result = self._results[method]
        else:
            return None
        answer = {"jsonrpc": "2.0", "id": number, "result": result}
        return json.dumps(answer, separators=(",", ":")).encode() + b"\n"

    def _is_introduced(self, params: Mapping[str, Any]) -> bool:
        """Whether a client of the newer protocol introduces itself in these parameters, and asks no more."""
        meta = params.get("_meta")
        if params.keys() != {"_meta"} or not isinstance(meta, dict):
            return False
        client = {name: meta.get(_META + name) for name in ("protocolVersion", "clientInfo")}
        client["capabilities"] = meta.get(f"{_META}clientCapabilities")
        return _is_complete(client) and client["protocolVersion"] in self._discovered["supportedVersions"]

    def _relay(self, given: int, answers: int, pipe: int) -> None:
        rest = b""
        with suppress(BrokenPipeError), open(pipe, "wb") as server, open(answers, "wb") as client:
            while chunk := os.read(given, _CHUNK):
                with self._turn:
                    passed, rest = self._answer_lines(rest + chunk, client)
                server.write(passed)
                server.flush()
            with self._turn:
                if not self._over and not rest:  # all is answered, and nothing opened yet
                    os._exit(0)
            server.write(rest)

    def _answer_lines(self, received: bytes, client: BinaryIO) -> tuple[bytes, bytes]:
        """Answers lines; returns those that the server has to see, and the beginning of the next one."""
        *lines, rest = received.split(b"\n")
        passed = []
        for line in lines:
            greeted = self.initialize
            answer = None if self._over else self.answer(line)
            if answer is None:  # an answer to a later line would overtake that of the server
                self._over = True
            elif answer:
                client.write(answer)
                client.flush()
            if not answer or self.initialize != greeted:
                passed.append(line + b"\n")
        if self._over:
            passed.append(rest)
            rest = b""
        return b"".join(passed), rest


def _is_complete(params: Mapping[str, Any]) -> bool:
    """Whether the server will accept these parameters of ``initialize``."""
    client, capabilities = params.get("clientInfo"), params.get("capabilities")
    return (
        isinstance(client, dict)
        and isinstance(capabilities, dict)
        and all(isinstance(one, dict) for one in capabilities.values())
        and all(isinstance(one, str) for one in (client.get("name"), client.get("version")))
        and isinstance(params.get("protocolVersion"), str)
    )
