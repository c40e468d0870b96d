"""What a worker says of each run: a line on standard error, or a JSON document on standard output."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pgrecall.faces.cli.json_output import plain


@contextmanager
def run_log(as_json: bool) -> Iterator[None]:
    """Meanwhile the log of jobs goes to standard error; with ``as_json``, runs to standard output."""
    logger = logging.getLogger("pgrecall.jobs")
    # It would say that a look at what is due was left out because one was under way.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    handlers: list[logging.Handler] = [_lines()]
    if as_json:
        handlers = [_documents(), _lines()]
        handlers[1].addFilter(lambda record: not hasattr(record, "outcome"))
    level = logger.level
    logger.setLevel(logging.INFO)
    for handler in handlers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.setLevel(level)
        for handler in handlers:
            logger.removeHandler(handler)


def _lines() -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    form = logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    form.converter = time.gmtime
    handler.setFormatter(form)
    return handler


class _Document(logging.Formatter):
    """The outcome a record carries, as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(plain(record.__dict__["outcome"]), ensure_ascii=False)


def _documents() -> logging.Handler:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_Document())
    handler.addFilter(lambda record: hasattr(record, "outcome"))
    return handler
