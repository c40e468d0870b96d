"""What an endpoint may cost the process that asks it: time in all, and bytes and lists of its answer.

httpx limits the time of each read. An endpoint that sends a header line, or a 100 Continue, now and then
would hold its caller for ever, so here every read also ends with the attempt.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpcore
import httpx

from pgrecall.encoding import without_json_strings

MAX_ANSWER_BYTES = 256 * 2**20
"""Maximum bytes of any answer; 2,048 vectors of 4,000 dimensions take 160 million."""

MORE_BYTES = 2**20
"""Bytes of an answer beside what its texts explain."""

_CONTAINERS_PER_TEXT, _MORE_CONTAINERS = 4, 1_000
"""Lists and objects of an answer: two or three for each text. An empty list of two bytes takes 64 in
Python."""

_ENCODING = "gzip"
"""The encoding that is asked for. httpx would read others too, and several one within the other, each of
which can unpack a few kilobytes to gigabytes in a single step."""

_GZIP = 31  # the window of zlib with the header of gzip

_PIECE = 65_536


class AnswerTooLarge(Exception):
    """The answer is larger than any answer to its question; the text says in which way."""


class _Until(threading.local):
    at: float | None = None


_until = _Until()


@contextmanager
def ending_at(until: float) -> Iterator[None]:
    """Every read and write of this thread on bounded connections ends at ``until``, by ``time.monotonic``."""
    _until.at = until
    try:
        yield
    finally:
        _until.at = None


def _left(timeout: float | None) -> float | None:
    """What is left of the time, at most ``timeout``."""
    if _until.at is None:
        return timeout
    left = _until.at - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time for the whole answer has passed")
    return left if timeout is None else min(timeout, left)


class _BoundedStream(httpcore.NetworkStream):
    """A connection whose reads and writes end in time."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):  # the timeout is for each call of send
            self._stream.write(buffer[start : start + _PIECE], _left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _BoundedStream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _BoundedBackend(httpcore.NetworkBackend):
    """Opens bounded connections."""

    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._backend.connect_tcp(host, port, _left(timeout), local_address, socket_options)
        return _BoundedStream(stream)

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


def bounded_client(**options: Any) -> httpx.Client:
    """A client whose connections, through proxies too, obey ``ending_at``.

    It takes no cookies: a large one, kept, would have every later request of all tenants refused.
    """
    client = httpx.Client(cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())), **options)
    client.headers["Accept-Encoding"] = _ENCODING
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            # httpx makes the transports of proxies itself and passes no backend on; tests fail if these
            # names change.
            pool = transport._pool
            pool._network_backend = _BoundedBackend(pool._network_backend)
    return client


def read_answer(response: httpx.Response, at_most: int) -> bytes:
    """The whole body of an answer.

    Raises:
        AnswerTooLarge: it has more bytes, or an encoding that nobody asked for.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", _ENCODING):
        raise AnswerTooLarge(f"is encoded as {encoding[:40]!r}, which was not asked for")
    limit = min(at_most, MAX_ANSWER_BYTES)
    unpacking = zlib.decompressobj(_GZIP) if encoding == _ENCODING else None
    answer = bytearray()
    for chunk in response.iter_raw():
        try:
            answer += unpacking.decompress(chunk, limit + 1 - len(answer)) if unpacking else chunk
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error
        if len(answer) > limit:
            raise AnswerTooLarge(f"has more than {limit:,} bytes")
    return bytes(answer)


def has_too_many_lists(answer: bytes, texts: int) -> bool:
    """Whether an answer about so many texts has far more lists and objects than that takes."""
    limit = _CONTAINERS_PER_TEXT * texts + _MORE_CONTAINERS
    return _brackets(answer) > limit and _brackets(without_json_strings(answer)) > limit


def _brackets(answer: bytes) -> int:
    return answer.count(b"[") + answer.count(b"{")
