"""A running service that lends its models: requests to it, and whether its models are those of the settings.

It is asked with the standard library, which loads faster than httpx.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from pgrecall.errors import InvalidInput
from pgrecall.search.embed.embedder import DEFAULT_DIMENSIONS, DEFAULT_MODEL
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from http.client import HTTPConnection

MODELS = "/v1/models"
"""The path that lists a service's models; requests to them go to paths below it."""

MOST_BYTES = 2**26
"""Largest answer in bytes; no legitimate one comes near it."""


class ModelServiceError(Exception):
    """The service failed; the message is a clause that says how. Callers load the model here instead."""


@dataclass(frozen=True, slots=True)
class ModelService:
    """A service by its address. ``key`` is sent as a bearer token and never shown.

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
        """The address without a login."""
        address = urlsplit(self.url)
        return f"{address.scheme}://{address.netloc.rpartition('@')[2]}"

    def ask(self, path: str, body: Mapping[str, Any] | None, timeout: float) -> Any:
        """The JSON answer to a POST of ``body``, or to a GET if that is None.

        Args:
            timeout: seconds for the whole exchange.

        Raises:
            ModelServiceError: there is no usable answer.
        """
        from http.client import HTTPException  # imported only when a service is asked

        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            # Lone surrogates have no UTF-8; "replace" turns them into question marks, as models read them.
            content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            with self._connected(timeout) as connection:
                connection.request("GET" if body is None else "POST", self._path(path), content, headers)
                response = connection.getresponse()
                answer = response.read(MOST_BYTES)
                if response.length or response.read(1):
                    raise ModelServiceError("did not answer in full")
        except (OSError, HTTPException) as error:
            raise ModelServiceError(f"did not answer within {timeout:g} seconds, or hung up") from error
        return _parse_answer(response.status, answer)

    @contextlib.contextmanager
    def _connected(self, timeout: float) -> Iterator[HTTPConnection]:
        """A connection that is cut after ``timeout``: a socket's own timeout starts again with every byte."""
        connection = self._connection(timeout)
        try:
            connection.connect()
            cut = threading.Timer(timeout, partial(_cut, connection.sock))
            cut.daemon = True
            cut.start()
            try:
                yield connection
            finally:
                cut.cancel()
        finally:
            connection.close()

    def _connection(self, timeout: float) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        address = urlsplit(self.url)
        assert address.hostname
        if address.scheme == "http":
            return HTTPConnection(address.hostname, address.port, timeout=timeout)
        return HTTPSConnection(address.hostname, address.port, timeout=timeout)

    def _path(self, path: str) -> str:
        return urlsplit(self.url).path.rstrip("/") + path


def _cut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is closed already
        connected.shutdown(socket.SHUT_RDWR)


def _parse_answer(status: int, answer: bytes) -> Any:
    if status in (401, 403):
        raise ModelServiceError(f"refused the key ({status})")
    if status != 200:
        raise ModelServiceError(f"refused the request ({status})")
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise ModelServiceError("answered with something that is not JSON") from error


def _split(url: str) -> SplitResult | None:
    try:
        address = urlsplit(url)
        _ = address.port
    except ValueError:
        return None
    return address


def embedder_identity(settings: Settings) -> str | None:
    """A digest that is equal for settings whose embedders give the same vectors; it hides folder names.

    None where nothing can be lent: the embedder is an HTTP endpoint or there is none.
    """
    match settings.embedder:
        case "local":
            return _digest("local", _source(settings.embedder_model, DEFAULT_MODEL))
        case "hash":
            return _digest("hash", settings.embedder_dimensions or 64)
        case _:
            return None


def reranker_identity(settings: Settings) -> str | None:
    """The same for rerankers and their scores."""
    if settings.reranker not in ("local", "onnx"):
        return None
    return _digest(
        settings.reranker,
        _source(settings.reranker_model, ""),
        settings.reranker_tokens,
        settings.reranker_precision,
        settings.reranker_scale or "logit",
    )


def _source(model: str | None, default: str) -> str:
    """A model by its absolute folder or by its name."""
    if not model or model == f"sentence-transformers/{DEFAULT_MODEL}":
        return default
    folder = Path(model).expanduser()
    return str(folder.resolve()) if folder.is_dir() else model


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """The models that a service lends, with name, identity and dimensions or scale; None if it has none."""

    version: str
    ready: bool
    embedder: Mapping[str, Any] | None
    reranker: Mapping[str, Any] | None


def read_offer(service: ModelService, timeout: float) -> ModelOffer:
    """Read the models that a service lends.

    Raises:
        ModelServiceError: it does not answer, or is not a pgrecall service of this version.
    """
    answer = service.ask(MODELS, None, timeout)
    try:
        offer = ModelOffer(answer["version"], answer["ready"], answer["embedder"], answer["reranker"])
        for model, number in ((offer.embedder, "dimensions"), (offer.reranker, "scale")):
            _ = model and (model["name"], model["identity"], model[number])
    except (KeyError, TypeError) as error:
        raise ModelServiceError("is no service of pgrecall, or of another version") from error
    return offer


def offers_same_embedder(settings: Settings, offer: ModelOffer) -> bool:
    """Whether the service's embedder gives the same vectors as that of the settings."""
    model = offer.embedder
    wanted = embedder_identity(settings)
    if wanted is None or model is None or model["identity"] != wanted:
        return False
    length = model["dimensions"]
    known = settings.embedder_dimensions or _known_dimensions(settings)
    return type(length) is int and 0 < length <= 16_384 and known in (None, length)


def offers_same_reranker(settings: Settings, offer: ModelOffer) -> bool:
    """The same for the reranker."""
    model = offer.reranker
    wanted = reranker_identity(settings)
    return wanted is not None and model is not None and model["identity"] == wanted


def _known_dimensions(settings: Settings) -> int | None:
    if settings.embedder == "hash":
        return 64
    return DEFAULT_DIMENSIONS if _source(settings.embedder_model, DEFAULT_MODEL) == DEFAULT_MODEL else None
