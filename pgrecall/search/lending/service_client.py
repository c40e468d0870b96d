"""A running service that lends its models: asked with the standard library, which loads in no time."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from pgrecall.errors import InvalidInput

if TYPE_CHECKING:
    from http.client import HTTPConnection

MODELS = "/v1/models"
"""Where a service tells of its models; below it they are asked."""

MOST_BYTES = 2**26
"""Of an answer; no answer that is due comes near it."""


class NotLent(Exception):
    """The service did not answer as it should; the text is a clause that says how. There is another way."""


@dataclass(frozen=True, slots=True)
class Lender:
    """A service by its address. ``key`` is shown as a bearer token and appears in no text.

    Raises:
        InvalidInput: the address or the key cannot be used.
    """

    url: str
    key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        address = _split(self.url)
        if address is None or address.scheme not in ("http", "https") or not address.hostname:
            raise InvalidInput(
                "PGRECALL_SERVER is not an http or https address.",
                hint="Give one like http://127.0.0.1:8766, or off.",
            )
        if not all("!" <= character <= "~" for character in self.key or ""):
            raise InvalidInput(
                "PGRECALL_SERVER_KEY holds characters that no HTTP header can carry.",
                hint="Give the bare key that `pgrecall keys create` printed.",
            )

    @property
    def shown(self) -> str:
        """The address without a name and a password in it."""
        address = urlsplit(self.url)
        return f"{address.scheme}://{address.netloc.rpartition('@')[2]}"

    def ask(self, path: str, body: Mapping[str, Any] | None, patience: float) -> Any:
        """The JSON that it answers with, to a GET where there is no body.

        Args:
            patience: seconds for all of it, however it dawdles.

        Raises:
            NotLent: there was none.
        """
        from http.client import HTTPException  # not for those who ask none

        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            # Lone surrogates have no UTF-8; "replace" turns them into question marks, as models read them.
            content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            with self._connected(patience) as connection:
                connection.request("GET" if body is None else "POST", self._path(path), content, headers)
                response = connection.getresponse()
                answer = response.read(MOST_BYTES)
                if response.length or response.read(1):
                    raise NotLent("did not answer in full")
        except (OSError, HTTPException) as error:
            raise NotLent(f"did not answer within {patience:g} seconds, or hung up") from error
        return _understood(response.status, answer)

    @contextlib.contextmanager
    def _connected(self, patience: float) -> Iterator[HTTPConnection]:
        """A connection that is cut when its time is up: a socket's own limit begins anew with every byte."""
        connection = self._connection(patience)
        try:
            connection.connect()
            cut = threading.Timer(patience, partial(_cut, connection.sock))
            cut.daemon = True
            cut.start()
            try:
                yield connection
            finally:
                cut.cancel()
        finally:
            connection.close()

    def _connection(self, patience: float) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        address = urlsplit(self.url)
        assert address.hostname
        if address.scheme == "http":
            return HTTPConnection(address.hostname, address.port, timeout=patience)
        return HTTPSConnection(address.hostname, address.port, timeout=patience)

    def _path(self, path: str) -> str:
        return urlsplit(self.url).path.rstrip("/") + path


def _cut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is closed already
        connected.shutdown(socket.SHUT_RDWR)


def _understood(status: int, answer: bytes) -> Any:
    if status in (401, 403):
        raise NotLent(f"refused the key ({status})")
    if status != 200:
        raise NotLent(f"refused the request ({status})")
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise NotLent("answered with something that is not JSON") from error


def _split(url: str) -> SplitResult | None:
    try:
        address = urlsplit(url)
        _ = address.port
    except ValueError:
        return None
    return address
