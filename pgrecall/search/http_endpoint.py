"""An HTTP endpoint for JSON requests, with retries, timeouts and secrets that are never shown."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import httpx
from tenacity import RetryCallState, RetryError, Retrying, retry_if_exception_type
from tenacity.wait import wait_exponential, wait_random

from pgrecall.errors import InvalidInput, RecallError
from pgrecall.search.endpoint_limits import (
    MAX_ANSWER_BYTES,
    AnswerTooLarge,
    bounded_client,
    ending_at,
    has_too_many_lists,
    read_answer,
)
from pgrecall.search.foreign_words import message_of, on_one_line
from pgrecall.search.quoted_texts import texts_in, without_quotations
from pgrecall.setting_types import Secret

RETRY_AFTER_CAP = 30.0  # seconds; an endpoint that asks for more is tried again after this
_LATER = (
    0.5  # seconds after the caller's limit, so that its own deadline passes before ours reports a timeout
)
_READ, _SHOWN = 500, 200
"""Characters of an endpoint's message."""

_BACKOFF = wait_exponential(multiplier=0.5, max=8) + wait_random(0, 0.5)


@dataclass(frozen=True, slots=True)
class ErrorWording:
    """Words for the errors of an endpoint: its noun, the prefix of its settings, and hints.

    ``malformed`` is the class of the error where it cannot read the request (400 or 422); None: ``error``.
    """

    noun: str
    prefix: str
    error: type[RecallError]
    slow: str
    refused: str
    malformed: type[RecallError] | None = None


class Endpoint:
    """One address for POST requests; connections are kept until ``close()``, and threads may share it.

    Lost connections, timeouts, 429 and 5xx are retried, ``attempts`` times in all; ``timeout`` is in
    seconds, for each attempt.

    Raises:
        InvalidInput: the key or a number cannot be used.
    """

    def __init__(
        self, address: httpx.URL, wording: ErrorWording, *, key: Secret | None, timeout: float, attempts: int
    ) -> None:
        if attempts < 1 or not timeout > 0:
            raise InvalidInput(
                f"No endpoint can be asked with attempts {attempts} and timeout {timeout}.",
                hint="Give at least 1, and more than 0 seconds.",
            )
        self._address = address.copy_with(userinfo=b"")  # httpx logs the address of each request
        self.shown = str(self._address.copy_with(query=None))
        self._wording = wording
        self._key = _checked_key(key, wording)
        self._timeout = timeout
        self._attempts = attempts
        headers = {"Content-Type": "application/json"}
        login = None
        if self._key:
            headers["Authorization"] = f"Bearer {self._key.get_secret_value()}"
        elif address.userinfo:
            login = httpx.BasicAuth(address.username, address.password)
        self._new_client = partial(
            bounded_client,
            headers=headers,
            auth=login,
            timeout=timeout,
            follow_redirects=False,
            event_hooks={"request": [_hide_query]},
        )
        # One for each process: a forked child must not use the connections of its parent.
        self._clients = {os.getpid(): self._new_client()}

    @property
    def _client(self) -> httpx.Client:
        return self._clients.get(os.getpid()) or self._clients.setdefault(os.getpid(), self._new_client())

    def close(self) -> None:
        """Closes its connections; it cannot be used again."""
        self._client.close()

    def post(
        self,
        body: Mapping[str, Any],
        until: float | None = None,
        *,
        texts: int = 1,
        answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> Any:
        """Sends ``body`` and returns the parsed answer, None if it is not JSON or has far more lists
        than an answer about so many ``texts``.

        No attempt starts after ``until`` (on the clock of ``time.monotonic``) or lasts much longer. An answer
        of more than ``answer_bytes`` is refused.

        Raises:
            RecallError: of the class in the wording, if there is no usable answer.
        """
        # Lone surrogates have no UTF-8; "replace" turns them into question marks.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")

        def last(state: RetryCallState) -> bool:
            waited = until is not None and time.monotonic() + _wait(state) >= until
            return waited or state.attempt_number >= self._attempts

        retrying = Retrying(retry=retry_if_exception_type(_TransientError), stop=last, wait=_wait)
        try:
            answer = retrying(self._attempt, content, until, texts_in(body), answer_bytes)
            return None if has_too_many_lists(answer, texts) else parse_json(answer)
        except AnswerTooLarge as large:
            raise self._wording.error(
                f"The answer of the {self._wording.noun} at {self.shown} {large}.",
                hint=f"Check {self._wording.prefix}_URL.",
            ) from large
        except RetryError as given_up:
            error, tried = given_up.last_attempt.exception(), given_up.last_attempt.attempt_number
            assert isinstance(error, _TransientError)  # nothing else is tried again
            raise self._failure(error, tried) from error.__cause__

    def _failure(self, error: _TransientError, tried: int) -> RecallError:
        times = "once" if tried == 1 else f"{tried} times"
        return self._wording.error(
            f"The {self._wording.noun} at {self.shown} failed, tried {times}: {error.reason}.",
            hint=error.hint,
        )

    def _attempt(self, content: bytes, until: float | None, texts: list[str], limit: int) -> bytes:
        noun, prefix = self._wording.noun, self._wording.prefix
        if self._client.is_closed:
            raise self._wording.error(f"The {noun} at {self.shown} is closed.", hint="Make a new one.")
        left = self._timeout if until is None else max(until - time.monotonic(), 0.0) + _LATER
        timeout = min(self._timeout, left)
        try:
            status, headers, answer = self._exchange(content, timeout, limit)
        except httpx.TimeoutException as error:
            raise _TransientError(
                f"no answer within {timeout:.3g} seconds", hint=self._wording.slow
            ) from error
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise _TransientError(
                f"no connection, or it broke ({message_of(error)})",
                hint=f"Check that it runs, and {prefix}_URL.",
            ) from error
        except httpx.HTTPError as error:
            raise self._wording.error(
                f"The {noun} at {self.shown} cannot be asked: {message_of(error)}.",
                hint=f"Check {prefix}_URL.",
            ) from error
        if status != httpx.codes.OK:
            raise self._refusal(status, headers, self._message(answer, texts))
        return answer

    def _exchange(self, content: bytes, timeout: float, limit: int) -> tuple[int, httpx.Headers, bytes]:
        with (
            ending_at(time.monotonic() + timeout),
            self._client.stream("POST", self._address, content=content, timeout=timeout) as response,
        ):
            return response.status_code, response.headers, read_answer(response, limit)

    def _refusal(self, status: int, headers: httpx.Headers, reason: str) -> RecallError | _TransientError:
        wording = self._wording
        if status == httpx.codes.TOO_MANY_REQUESTS:
            return _TransientError(
                f"too many requests (429){reason}",
                hint="Try again later, or check the quota of its key.",
                retry_after=retry_after(headers),
            )
        if status >= 500:
            return _TransientError(
                f"its server failed ({status}){reason}",
                hint="Check the log of that server.",
                retry_after=retry_after(headers),
            )
        if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            refused = "refused the key" if self._key else "wants a key"
            return wording.error(  # its answer may quote part of the key
                f"The {wording.noun} at {self.shown} {refused} ({status}).",
                hint=f"Correct {wording.prefix}_KEY.",
            )
        malformed = status in (httpx.codes.BAD_REQUEST, httpx.codes.UNPROCESSABLE_ENTITY)
        kind = wording.malformed if malformed and wording.malformed else wording.error
        return kind(
            f"The {wording.noun} at {self.shown} refused the request ({status}){reason}.",
            hint=wording.refused,
        )

    def _message(self, answer: bytes, texts: list[str]) -> str:
        """The message of an error answer, short, on one line, without the key and what it quotes of texts."""
        message = None if has_too_many_lists(answer, len(texts)) else parse_json(answer)
        for name in ("error", "message", "detail"):
            if isinstance(message, dict):
                message = message.get(name, message)
        if not isinstance(message, str) or not message.strip():
            return ""
        if self._key:
            message = self._key.removed_from(message)
        line = without_quotations(on_one_line(message[: 4 * _READ])[:_READ], texts)
        return f": {line[:_SHOWN].rstrip('. ')}"


class _URLWithoutQuery(httpx.URL):
    """An address that hides its query, which may hold a key: httpx logs the address of each request."""

    def __str__(self) -> str:
        return str(self.copy_with(query=None))


def _hide_query(request: httpx.Request) -> None:
    request.url = _URLWithoutQuery(request.url)


class _TransientError(Exception):
    """A failed attempt that may succeed when repeated; never leaves this module."""

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
    """Seconds that the endpoint asks to wait, at most RETRY_AFTER_CAP; None if it asks for none.

    A date counts from the answer's own Date, so that the clocks need not agree.
    """
    asked = headers.get("Retry-After", "").strip()
    if asked.isdecimal():
        return min(float(asked), RETRY_AFTER_CAP)
    try:
        until = parsedate_to_datetime(asked) - parsedate_to_datetime(headers.get("Date", ""))
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(until.total_seconds(), 0.0), RETRY_AFTER_CAP)


def parse_address(url: str, prefix: str) -> httpx.URL:
    """Parses a URL; ``prefix`` is that of its setting.

    Raises:
        InvalidInput: it is not http or https, or names no host.
    """
    try:
        address = httpx.URL(url.strip())
    except httpx.InvalidURL:
        address = httpx.URL("")
    if address.scheme not in ("http", "https") or not address.host:
        raise InvalidInput(
            f"{prefix}_URL is not an http or https address.", hint="Give one like https://api.example.com/v1."
        )
    return address


def parse_json(answer: bytes) -> Any:
    """The JSON value, or None where there is none."""
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None


def _checked_key(key: Secret | None, wording: ErrorWording) -> Secret | None:
    secret = key.get_secret_value().strip() if key else ""
    if not all("!" <= character <= "~" for character in secret):
        raise InvalidInput(
            f"{wording.prefix}_KEY holds characters that no HTTP header can carry.",
            hint="Give the bare key, in printable ASCII and without spaces.",
        )
    return Secret(secret) if secret else None
