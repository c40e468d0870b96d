"""A real HTTP server on this machine that answers as a test tells it to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """An answer; ``before`` it and ``between`` its bytes so many seconds pass, unless the endpoint stops."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    before: float = 0.0
    between: float = 0.0


Answer = Callable[[dict[str, Any]], Reply]


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    """Connections that may wait until they are accepted: beyond the usual five a client tries again after a
    second, which may be all the time that a test gives it."""


class Endpoint:
    """A real HTTP server. Its replies are taken in turn, and the last one stays."""

    def __init__(self, honest: Answer) -> None:
        self.replies: list[Reply | Answer] = [honest]
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.answered = 0
        """How many answers were sent to their end."""
        self.over = threading.Event()
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._answer(endpoint.note(self.path, dict(self.headers), request))

            def _answer(self, reply: Reply) -> None:
                endpoint.over.wait(reply.before)
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(reply.body)))
                    self.end_headers()
                    step = 1 if reply.between else len(reply.body) or 1
                    for start in range(0, len(reply.body), step):
                        self.wfile.write(reply.body[start : start + step])
                        endpoint.over.wait(reply.between)
                    with endpoint._lock:
                        endpoint.answered += 1
                except OSError:  # the client hung up, as it should on a slow answer
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def note(self, path: str, headers: dict[str, str], request: dict[str, Any]) -> Reply:
        with self._lock:
            self.paths.append(path)
            self.headers.append(headers)
            self.requests.append(request)
            self.times.append(time.monotonic())
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply if isinstance(reply, Reply) else reply(request)

    def stop(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()
