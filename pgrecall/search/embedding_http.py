"""The HTTP embedder: any endpoint that speaks OpenAI's ``POST /v1/embeddings``."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Self

import httpx
from pydantic import SecretStr
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_exponential, wait_random

from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.search.vectors import Vectors, check_vectors

RETRY_AFTER_CAP = 30.0  # seconds; an endpoint that asks for more is tried again after this
_BACKOFF = wait_exponential(multiplier=0.5, max=8) + wait_random(0, 0.5)
_VERSIONED = re.compile(r"/v\d+$")


class HttpEmbedder:
    """Embeds over HTTP; connections are kept until ``close()``, and threads may share one.

    ``url`` is a base URL, with or without ``/v1``, or the whole address ending in ``/embeddings``.
    Without ``dimensions`` they are learned from the first answer. Lost connections, timeouts, 429
    and 5xx are tried again, ``attempts`` times in all; ``timeout`` is in seconds, for each attempt.

        with HttpEmbedder("http://localhost:11434", "nomic-embed-text") as embedder:
            embedder.embed(["a note"])

    Raises:
        InvalidInput: the URL, the key or a number cannot be used.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dimensions: int | None = None,
        key: SecretStr | None = None,
        timeout: float = 30.0,
        batch: int = 64,
        attempts: int = 3,
    ) -> None:
        if batch < 1 or attempts < 1 or timeout <= 0:
            raise InvalidInput(
                f"An embedder cannot work with batch {batch}, attempts {attempts} and timeout {timeout}.",
                hint="Give at least 1, 1 and more than 0 seconds.",
            )
        self.name = model
        address = _address(url)
        self._address = address.copy_with(userinfo=b"")  # httpx logs the address of each request
        self._shown = str(self._address.copy_with(query=None))
        self._dimensions = dimensions
        self._key = _usable(key)
        self._timeout = timeout
        self._batch = batch
        self._attempts = attempts
        self._learning = threading.Lock()
        headers = {"Content-Type": "application/json"}
        login = None
        if self._key:
            headers["Authorization"] = f"Bearer {self._key.get_secret_value()}"
        elif address.userinfo:
            login = httpx.BasicAuth(address.username, address.password)
        self._client = httpx.Client(headers=headers, auth=login, timeout=timeout, follow_redirects=False)

    def __repr__(self) -> str:
        return f"HttpEmbedder({self._shown!r}, {self.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections; it embeds no more."""
        self._client.close()

    @property
    def dimensions(self) -> int:
        if self._dimensions is not None:
            return self._dimensions
        return len(self.embed(["dimensions"])[0])

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = []
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            answered = self._request(part)
            vectors += check_vectors(answered, len(part), self._dimensions or len(answered[0]), self.name)
            with self._learning:
                self._dimensions = self._dimensions or len(answered[0])
        return vectors

    def _request(self, texts: Sequence[str]) -> Vectors:
        """The vectors as answered, one for each text and in their order; not yet checked further."""
        # Lone surrogates have no UTF-8; "replace" turns them into question marks.
        body = json.dumps({"model": self.name, "input": list(texts)}, ensure_ascii=False)
        retrying = Retrying(
            retry=retry_if_exception_type(_TransientError),
            stop=stop_after_attempt(self._attempts),
            wait=_wait,
            reraise=True,
        )
        try:
            answer = retrying(self._attempt, body.encode("utf-8", "replace"))
        except _TransientError as error:
            raise EmbedderError(
                f"The embedder at {self._shown} failed, tried {self._attempts} times: {error.reason}.",
                hint=error.hint,
            ) from error.__cause__
        return self._in_order(answer, len(texts))

    def _attempt(self, body: bytes) -> bytes:
        if self._client.is_closed:
            raise EmbedderError(f"The embedder at {self._shown} is closed.", hint="Make a new one.")
        deadline = time.monotonic() + self._timeout
        try:
            with self._client.stream("POST", self._address, content=body) as response:
                chunks = []
                for chunk in response.iter_bytes():
                    chunks.append(chunk)
                    if time.monotonic() > deadline:  # httpx limits each read, not their sum
                        raise httpx.ReadTimeout("the answer trickles in too slowly")
        except httpx.TimeoutException as error:
            raise _TransientError(
                f"no answer within {self._timeout:g} seconds",
                hint="Raise PGRECALL_EMBEDDER_TIMEOUT or lower PGRECALL_EMBEDDER_BATCH.",
            ) from error
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise _TransientError(
                f"no connection, or it broke ({error})",
                hint="Check that it runs, and PGRECALL_EMBEDDER_URL.",
            ) from error
        except httpx.HTTPError as error:
            raise EmbedderError(
                f"The embedder at {self._shown} cannot be asked: {error}.",
                hint="Check PGRECALL_EMBEDDER_URL.",
            ) from error
        answer = b"".join(chunks)
        if response.status_code != httpx.codes.OK:
            raise self._refusal(response, answer)
        return answer

    def _refusal(self, response: httpx.Response, answer: bytes) -> EmbedderError | _TransientError:
        status = response.status_code
        said = self._said(answer)
        if status == httpx.codes.TOO_MANY_REQUESTS:
            return _TransientError(
                f"too many requests (429){said}",
                hint="Try again later, or check the quota of its key.",
                retry_after=retry_after(response.headers),
            )
        if status >= 500:
            return _TransientError(
                f"its server failed ({status}){said}",
                hint="Look into the log of that server.",
                retry_after=retry_after(response.headers),
            )
        if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            refused = "refused the key" if self._key else "wants a key"
            return EmbedderError(  # what it said may quote the key in part
                f"The embedder at {self._shown} {refused} ({status}).", hint="Correct PGRECALL_EMBEDDER_KEY."
            )
        return EmbedderError(
            f"The embedder at {self._shown} refused the request ({status}){said}.",
            hint="Check PGRECALL_EMBEDDER_URL, PGRECALL_EMBEDDER_MODEL and the length of the texts.",
        )

    def _said(self, answer: bytes) -> str:
        """What an error answer gives as its message, short, on one line and without the key."""
        message = _parsed(answer)
        for name in ("error", "message", "detail"):
            if isinstance(message, dict):
                message = message.get(name, message)
        if not isinstance(message, str) or not message.strip():
            return ""
        if self._key:
            message = message.replace(self._key.get_secret_value(), "***")
        return f": {' '.join(message.split())[:200].rstrip('. ')}"

    def _in_order(self, answer: bytes, count: int) -> Vectors:
        parsed = _parsed(answer)
        items = parsed.get("data") if isinstance(parsed, dict) else None
        if not isinstance(items, list) or not all(_is_embedding(item) for item in items):
            raise EmbedderError(
                f"The embedder at {self._shown} answered with something that is not a list of embeddings.",
                hint="Check that PGRECALL_EMBEDDER_URL speaks the OpenAI embeddings API.",
            )
        if sorted(item["index"] for item in items) != list(range(count)):
            raise EmbedderError(
                f"The embedder at {self._shown} returned {len(items)} embeddings for {count} texts, "
                f"or numbered them other than 0 to {count - 1}.",
                hint="Check that it embeds lists of texts, or set PGRECALL_EMBEDDER_BATCH to 1.",
            )
        return [item["embedding"] for item in sorted(items, key=lambda item: item["index"])]


class _TransientError(Exception):
    """An attempt failed in a way that may pass; never leaves this module."""

    def __init__(self, reason: str, *, hint: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.retry_after = retry_after


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, _TransientError) else None
    return _BACKOFF(state) if asked is None else asked


def retry_after(headers: httpx.Headers) -> float | None:
    """Seconds the endpoint asks to wait, at most RETRY_AFTER_CAP; None if it does not say.

    A date counts from the answer's own Date, so that no two clocks need to agree.
    """
    asked = headers.get("Retry-After", "").strip()
    if asked.isdecimal():
        return min(float(asked), RETRY_AFTER_CAP)
    try:
        until = parsedate_to_datetime(asked) - parsedate_to_datetime(headers.get("Date", ""))
    except (TypeError, ValueError):
        return None
    return min(max(until.total_seconds(), 0.0), RETRY_AFTER_CAP)


def _address(url: str) -> httpx.URL:
    try:
        address = httpx.URL(url.strip())
    except httpx.InvalidURL:
        address = httpx.URL("")
    if address.scheme not in ("http", "https") or not address.host:
        raise InvalidInput(
            "PGRECALL_EMBEDDER_URL is not an http or https address.",
            hint="Give one like https://api.example.com/v1.",
        )
    path = address.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path += "/embeddings" if _VERSIONED.search(path) else "/v1/embeddings"
    return address.copy_with(path=path)


def _usable(key: SecretStr | None) -> SecretStr | None:
    secret = key.get_secret_value().strip() if key else ""
    if not all("!" <= character <= "~" for character in secret):
        raise InvalidInput(
            "PGRECALL_EMBEDDER_KEY holds characters that no HTTP header can carry.",
            hint="Give the bare key, in printable ASCII and without spaces.",
        )
    return SecretStr(secret) if secret else None


def _parsed(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None


def _is_embedding(item: object) -> bool:
    return (
        isinstance(item, dict) and type(item.get("index")) is int and isinstance(item.get("embedding"), list)
    )
