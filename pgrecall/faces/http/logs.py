"""The service's log: a line for each request, as JSON or for a console, on standard error.

No line holds a text, a key of a memory, a bearer key or a path that was asked for: routes stand for paths,
and of an error that nobody expected the log has its kind and where it happened, not what it says.
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
"""Of an error, the innermost."""

_SPOKEN = ("uvicorn", "pgrecall", "psycopg.pool")
"""Loggers whose messages hold nothing of what was remembered; of others the log has the template."""


def service_log(form: LogForm, stream: TextIO | None = None) -> Log:
    """A log that writes to a stream, by default standard error."""
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


class _Bridge(logging.Handler):
    """What other libraries log, as lines of this log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        spoken = record.name.startswith(_SPOKEN)
        about: dict[str, Any] = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            about |= whereabouts(record.exc_info[1])
        self._log.log(record.levelno, record.getMessage() if spoken else str(record.msg), **about)


@contextmanager
def bridged(log: Log) -> Iterator[None]:
    """Meanwhile warnings of all libraries, and what uvicorn says, go to this log."""
    root, uvicorn = logging.getLogger(), logging.getLogger("uvicorn.error")
    levels = root.level, uvicorn.level
    bridge = _Bridge(log)
    root.addHandler(bridge)
    root.setLevel(logging.WARNING)
    uvicorn.setLevel(logging.INFO)
    # Its messages repeat what callers sent.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        root.removeHandler(bridge)
        root.setLevel(levels[0])
        uvicorn.setLevel(levels[1])


def whereabouts(error: BaseException) -> dict[str, Any]:
    """The kind of an error and where it happened: what it says may quote what somebody remembered."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return {
        "error": type(error).__name__,
        "frames": [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames],
    }
