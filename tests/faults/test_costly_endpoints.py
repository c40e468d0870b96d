"""Endpoints of models that answer without end, or with far more than they were asked.

One may cost its caller the time of an attempt, and memory in proportion to the question.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import pytest

from pgrecall.errors import EmbedderError, RerankerError
from pgrecall.search.embed.http import HttpEmbedder
from pgrecall.search.rerank.http import HttpReranker
from pgrecall.search.rerank.scores import RerankCandidate
from tests.faults.conftest import Inject
from tests.http_endpoint import Endpoint, Reply

pytestmark = pytest.mark.fault

TIMEOUT = 0.3
LASTS = 4.0
"""Seconds that an endless answer takes: many times the timeout, so that one that is not ended is noticed."""

MEMORY = 30 * 2**20

Send = Callable[[socket.socket], None]


def repeated(first: bytes, again: bytes) -> Send:
    """Sends something small again and again, so that no single read waits long."""

    def send(client: socket.socket) -> None:
        until = time.monotonic() + LASTS
        client.sendall(first)
        while time.monotonic() < until:
            client.sendall(again)
            time.sleep(TIMEOUT / 10)

    return send


def answer(body: bytes, *headers: bytes) -> Send:
    head = b"HTTP/1.1 200 OK\r\n" + b"".join(header + b"\r\n" for header in headers)
    return lambda client: client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def zstd_bomb() -> bytes:
    """64 million zeros in some kilobytes: blocks of one repeated byte, in the format of RFC 8878."""
    block = ((131_071 << 3) | 0b010).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * 512 + b"\x01\x00\x00"


NUMBERS = b'{"data": [{"index": 0, "embedding": [' + b"0," * (8 * 2**20) + b"0]}]}"

WITHOUT_END: dict[str, Send] = {
    "headers": repeated(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
    "a status for the meantime": repeated(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "blanks": repeated(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b" "),
    "chunks": repeated(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "nothing is read": lambda _: time.sleep(LASTS),
}

TOO_MUCH: dict[str, Callable[[], Send]] = {
    "lists": lambda: answer(b"[" + b"[]," * 300_000 + b"[]]"),
    "objects": lambda: answer(b"[" + b"{}," * 300_000 + b"{}]"),
    "nested lists": lambda: answer(b"[" * 900_000),
    "numbers": lambda: answer(NUMBERS),
    "a gzip bomb": lambda: answer(gzip.compress(b" " * 2**26), b"Content-Encoding: gzip"),
    "a bomb in a bomb": lambda: answer(
        gzip.compress(gzip.compress(b" " * 2**28)), b"Content-Encoding: gzip, gzip"
    ),
    "a zstd bomb": lambda: answer(zstd_bomb(), b"Content-Encoding: zstd"),
    "an error of lists": lambda: (
        lambda client: client.sendall(
            b"HTTP/1.1 400 Bad Request\r\nContent-Length: 900001\r\n\r\n" + b"[" + b"[]," * 300_000
        )
    ),
}


@contextmanager
def endpoint(send: Send, *, reads: bool = True) -> Iterator[str]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve(client: socket.socket) -> None:
            with suppress(OSError), client:
                if reads:
                    client.recv(65536)
                send(client)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=serve, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def embedded(url: str, text: str = "a note", *, timeout: float = TIMEOUT) -> None:
    with HttpEmbedder(url, "m", dimensions=4, timeout=timeout, attempts=1) as embedder:
        embedder.embed([text])


def reranked(url: str, text: str = "a note", *, timeout: float = TIMEOUT) -> None:
    with HttpReranker(url, "m", timeout=timeout, attempts=1) as reranker:
        reranker.rerank("who?", [RerankCandidate(1, text)], top_n=1)


ASKED = {"embedder": (embedded, EmbedderError), "reranker": (reranked, RerankerError)}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("what", WITHOUT_END)
def test_an_answer_that_trickles_ends_with_its_attempt(what: str, asked: str, inject: Inject) -> None:
    ask, error = ASKED[asked]
    # More than the buffers of a socket hold, where nothing is read.
    text = "a note" * 2_000_000 if what == "nothing is read" else "a note"
    with endpoint(WITHOUT_END[what], reads=what != "nothing is read") as url:
        began = time.monotonic()
        with pytest.raises(error, match="no answer within"):
            ask(url, text)
        assert time.monotonic() - began < LASTS / 2
    inject("an answer without end")


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("what", TOO_MUCH)
def test_an_answer_costs_no_more_than_its_question(what: str, asked: str, inject: Inject) -> None:
    ask, error = ASKED[asked]
    send = TOO_MUCH[what]()
    tracemalloc.start()
    try:
        with endpoint(send) as url, pytest.raises(error):
            ask(url, timeout=30)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MEMORY + len(NUMBERS)
    inject("an answer of too much")


def test_a_long_answer_with_brackets_in_its_texts_is_read() -> None:
    """A server may send the texts back, and texts may be code."""
    text = "[{}]" * 2_000
    items = [{"index": 0, "relevance_score": 0.5, "document": {"text": text}}]
    with endpoint(answer(json.dumps({"results": items}).encode())) as url:
        reranked(url, text, timeout=30)


@pytest.mark.parametrize("encoding", [b"gzip", b"identity"])
def test_an_answer_may_be_compressed_once(encoding: bytes) -> None:
    body = json.dumps({"data": [{"index": 0, "embedding": [0.1, 0.2, 0.3, 0.4]}]}).encode()
    packed = gzip.compress(body) if encoding == b"gzip" else body
    with endpoint(answer(packed, b"Content-Encoding: " + encoding)) as url:
        embedded(url, timeout=30)


def test_an_answer_leaves_no_cookie_behind() -> None:
    """A large one, sent along, would have all later requests refused."""
    body = json.dumps({"data": [{"index": 0, "embedding": [0.1, 0.2, 0.3, 0.4]}]}).encode()
    server = Endpoint(lambda _: Reply(body=body, headers={"Set-Cookie": "mark=1; Path=/"}))
    try:
        with HttpEmbedder(server.url, "m", dimensions=4, timeout=30, attempts=1) as embedder:
            embedder.embed(["a note"])
            embedder.embed(["another"])
    finally:
        server.stop()
    assert [headers.get("Cookie") for headers in server.headers] == [None, None]
