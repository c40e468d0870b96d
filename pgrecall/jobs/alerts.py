"""The hook that the job `alerts` calls: a command, a URL, or both; and what it is told."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import Any
from unicodedata import category
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pgrecall.errors import AlertError, InvalidInput
from pgrecall.nouns.maintenance.models import AlarmChange
from pgrecall.settings import Settings, environment_variables

PAUSE = 30.0
"""Seconds for which a failed hook is not called again, so that not every tenant waits for it."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_MENTION = re.compile(r"(?<!\w)@")
_BRACKETS = {ord("<"): "\u2039", ord(">"): "\u203a"}

_WITHHELD = re.compile(r"PG|POSTGRES|.*DATABASE_URL$")
"""Environment variables that a command does not get: how to reach the database, and settings of pgrecall."""


def alert_document(tenant: str, changes: Sequence[AlarmChange]) -> dict[str, Any]:
    """The JSON document for the hook. ``text`` is the whole message, which chat services show.

    Whoever may run jobs of the tenant chooses the error that an alarm quotes. So each alarm is one line that
    begins with the tenant, and in ``text`` it mentions nobody and makes no link with another label.
    """
    changes = [
        replace(change, kind=_one_line(change.kind), alarm=change.alarm and _one_line(change.alarm))
        for change in changes
    ]
    by_change: Mapping[str, list[AlarmChange]] = {
        word: [change for change in changes if change.change == word]
        for word in ("raised", "ended", "standing")
    }
    lines = [f"{tenant}: {change.alarm}" for change in by_change["raised"]]
    lines += [f"{tenant}: No longer: {change.kind}" for change in by_change["ended"]]
    return {
        "text": "\n".join(_without_markup(_one_line(line)) for line in lines),
        "tenant": tenant,
        **{
            word: [{"kind": change.kind, "alarm": change.alarm} for change in found]
            for word, found in by_change.items()
        },
    }


def _one_line(text: str) -> str:
    """The text without control characters, marks that nobody sees, and line breaks of any kind."""
    seen = (" " if category(mark) in _UNSEEN else mark for mark in text)
    return " ".join("".join(seen).split())


def _without_markup(text: str) -> str:
    """The text with other marks for those by which chat services write links and mentions."""
    return _MENTION.sub("\uff20", text).translate(_BRACKETS)


@dataclass(slots=True)
class AlertHook:
    """Calls a command, a URL or both; neither may take longer than ``timeout`` seconds. Threads may share it.

    Raises:
        InvalidInput: the command or the URL cannot be used.
    """

    command: Sequence[str] | None
    url: str | None
    timeout: float
    _failed_at: float = -PAUSE
    _failure: AlertError | None = None

    def call(self, document: Mapping[str, Any]) -> None:
        """Sends an alert.

        Raises:
            AlertError: it failed or took too long, now or within the last half minute.
        """
        if self._failure is not None and time.monotonic() - self._failed_at < PAUSE:
            raise self._failure
        try:
            content = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
            if self.command is not None:
                _run(self.command, content, self.timeout)
            if self.url is not None:
                _post(self.url, content, self.timeout)
        except AlertError as error:
            self._failure, self._failed_at = error, time.monotonic()
            raise
        self._failure = None


def make_alert_hook(settings: Settings) -> AlertHook | None:
    """The hook of the settings, or None.

    Raises:
        InvalidInput: the command or the URL cannot be used.
    """
    command, url = settings.alert_command, settings.alert_url
    if command is None and url is None:
        return None
    address = None if url is None else url.get_secret_value().strip()  # files of secrets end with a newline
    if address is not None and not _is_usable(address):
        raise InvalidInput(
            "PGRECALL_ALERT_URL is not an http:// or https:// URL.", hint="Give the whole URL of the webhook."
        )
    return AlertHook(None if command is None else _words(command), address, settings.alert_timeout)


def _is_usable(address: str) -> bool:
    """Whether an address is one that a request can be sent to; it may be that nobody answers there."""
    try:
        parts = urlsplit(address)
        numbered = parts.port is None or parts.port > 0
    except ValueError:  # brackets that do not close, a port that is no number
        return False
    written = address.isascii() and address.isprintable() and " " not in address
    return parts.scheme in ("http", "https") and bool(parts.hostname) and numbered and written


def _words(command: str) -> Sequence[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidInput(
            f"PGRECALL_ALERT_COMMAND cannot be read: {error}.", hint="Close every quotation mark in it."
        ) from error
    if not words:
        raise InvalidInput("PGRECALL_ALERT_COMMAND is empty.", hint="Name a program, or unset it.")
    return words


def _environment() -> dict[str, str]:
    """The environment for a command: that of the worker, without what opens the database."""
    return {name: value for name, value in environment_variables().items() if not _WITHHELD.match(name)}


def _run(command: Sequence[str], content: bytes, timeout: float) -> None:
    """Runs a command with the alert on its standard input; after the timeout, ends it and its children."""
    # Files, not pipes: a child that goes on with our pipe open would keep us waiting.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(content)
        given.seek(0)
        try:
            process = subprocess.Popen(
                command,
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise AlertError(
                f"The alert command cannot be started: {error.strerror or error}.",
                hint="Check PGRECALL_ALERT_COMMAND.",
            ) from error
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AlertError(
                f"The alert command took longer than {timeout:g} s and was ended.",
                hint="Raise PGRECALL_ALERT_TIMEOUT, or let it leave its work to another program.",
            ) from None
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code != 0:
            errors.seek(0)
            lines = errors.read(100_000).decode(errors="replace").strip().splitlines()
            reason = f": {lines[-1][:200].rstrip('.')}" if lines else ""
            raise AlertError(f"The alert command failed with exit code {code}{reason}.")


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirects, so that an alert goes only to the configured address."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _post(url: str, content: bytes, timeout: float) -> None:
    """Posts an alert. It never shows the URL, which is a secret of many chat services."""
    failures: list[str] = []
    answered = threading.Event()

    def send() -> None:
        request = Request(url, content, {"Content-Type": "application/json"}, method="POST")
        try:
            with build_opener(_NoRedirect).open(request, timeout=timeout):
                pass
        except HTTPError as error:
            failures.append(f"answered with status {error.code}")
            error.close()
        except HTTPException:
            failures.append("did not answer in HTTP")
        except (OSError, URLError, ValueError) as error:
            reason = getattr(error, "reason", error)
            slow = isinstance(reason, TimeoutError)
            failures.append(
                "did not answer in time" if slow else f"cannot be reached ({type(reason).__name__})"
            )
        answered.set()

    # In a thread, because the timeout of a socket begins again with every byte.
    threading.Thread(target=send, daemon=True).start()
    if not answered.wait(timeout):
        failures.append(f"took longer than {timeout:g} s")
    if failures:
        raise AlertError(f"The alert URL {failures[0]}.", hint="Check PGRECALL_ALERT_URL.")
