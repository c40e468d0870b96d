"""The service's log on standard error: a line for each request, as JSON or for a console.

No line has a text, a memory's key, a bearer key or a requested path: paths are logged as routes, and
unexpected errors by their type and place, without their message.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TextIO

import structlog

LogForm = Literal["json", "console"]
Log = structlog.typing.FilteringBoundLogger

_FRAMES = 12
"""Innermost frames logged of an error."""

_TRUSTED = ("uvicorn", "pgrecall", "psycopg.pool")
"""Loggers whose messages never quote a memory; of others only the message template is logged."""


def service_log(form: LogForm, stream: TextIO | None = None) -> Log:
    """A structlog logger that writes to a stream, by default standard error."""
    target = stream or sys.stderr
    render: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=target.isatty())
    )
    log: Log = structlog.wrap_logger(
        structlog.PrintLogger(target),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
    return log


class _ForwardingHandler(logging.Handler):
    """Forwards log records of the standard library."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        trusted = record.name.startswith(_TRUSTED)
        details: dict[str, Any] = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            details |= error_location(record.exc_info[1])
        self._log.log(record.levelno, record.getMessage() if trusted else str(record.msg), **details)


@contextmanager
def forward_library_logs(log: Log) -> Iterator[None]:
    """Forwards warnings of all libraries and uvicorn's messages to this log inside the block."""
    root, uvicorn = logging.getLogger(), logging.getLogger("uvicorn.error")
    levels = root.level, uvicorn.level
    handler = _ForwardingHandler(log)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    uvicorn.setLevel(logging.INFO)
    # Its messages quote requests.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(levels[0])
        uvicorn.setLevel(levels[1])


def error_location(error: BaseException) -> dict[str, Any]:
    """An error's type and stack frames; its message may quote a memory."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return {
        "error": type(error).__name__,
        "frames": [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames],
    }
