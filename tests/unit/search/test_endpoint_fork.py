"""An HTTP endpoint that is open while its process forks."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from pgrecall.search.embed.http import HttpEmbedder


@pytest.fixture
def ports() -> Iterator[tuple[str, list[int]]]:
    """The address of an embedder, and from which port each request came."""
    seen: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(self.client_address[1])
            vectors = [{"index": n, "embedding": [1.0, 0.0]} for n in range(len(asked["input"]))]
            body = json.dumps({"data": vectors}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_asks_over_a_connection_of_its_own(
    ports: tuple[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long the child takes, the connection of the parent is not too old to be used again.
    lasting = partial(httpx.Client, limits=httpx.Limits(keepalive_expiry=None))
    monkeypatch.setattr(httpx, "Client", lasting)
    url, seen = ports
    embedder = HttpEmbedder(url, "model", dimensions=2)
    assert len(embedder.embed(["before"])) == 1
    if (child := os.fork()) == 0:
        asked = 0
        try:
            asked = len(embedder.embed(["child"]))
            embedder.close()
        finally:  # nothing of pytest's may run on in the child
            os._exit(0 if asked == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(embedder.embed(["after"])) == 1
    embedder.close()
    before, forked, after = seen
    assert forked != before
    assert after == before
