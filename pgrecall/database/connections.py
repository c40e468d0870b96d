"""Connections with deadlines, and single connections outside a pool."""

from __future__ import annotations

import json
import math
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg.abc import RV, Buffer, PQGen
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Format
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads

from pgrecall.database.error_translation import first_line, sentence, translated
from pgrecall.database.server import Row
from pgrecall.encoding import PackedVector
from pgrecall.errors import DatabaseUnavailable


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time; the connection was closed because its state is unknown."""


KEEPALIVES = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Parameters that detect a silently lost connection, as after a power cut, within a minute; most systems take
two hours by default. Values in the URL override them."""

FRESH_SECONDS = 1.0
"""Seconds after an answer during which an idle connection counts as alive without a check."""


class BoundedConnection(psycopg.Connection[Row]):
    """A connection that waits for the server until ``deadline``; it last answered at ``last_answer_at``.

    Both are in seconds of the monotonic clock. ``pooled`` says whether a connection pooler is in between.
    """

    deadline = math.inf
    last_answer_at = -math.inf
    pooled = False

    def pipelined(self) -> AbstractContextManager[object]:
        """One transaction for the statements inside, sent together where that is safe.

        A pipeline sends one more message after the end of its transaction. A pooler in transaction mode that
        has taken the server away by then lends it again for that message, for good: nothing answers it.
        """
        return self.transaction() if self.pooled else self.pipeline()

    def wait(self, gen: PQGen[RV], *rest: Any, **options: Any) -> RV:
        bounded = gen if self.deadline == math.inf else _bounded(gen, self)
        return super().wait(bounded, *rest, **options)


class BoundedAsyncConnection(psycopg.AsyncConnection[Row]):
    """BoundedConnection for an event loop."""

    deadline = math.inf
    last_answer_at = -math.inf
    pooled = False

    def pipelined(self) -> AbstractAsyncContextManager[object]:
        """As BoundedConnection.pipelined."""
        return self.transaction() if self.pooled else self.pipeline()

    async def wait(self, gen: PQGen[RV], *rest: Any, **options: Any) -> RV:
        bounded = gen if self.deadline == math.inf else _bounded(gen, self)
        return await super().wait(bounded, *rest, **options)


def keepalive_options(url: str) -> dict[str, Any]:
    """Connection parameters for this URL that detect a lost server (KEEPALIVES)."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # connecting reports it
        return {}
    return KEEPALIVES | {name: value for name, value in given.items() if name in KEEPALIVES}


class _VectorDumper(Dumper):
    """Sends a packed vector unchanged; the called function determines its type."""

    format = Format.BINARY

    def dump(self, obj: PackedVector) -> Buffer:
        return obj


psycopg.adapters.register_dumper(PackedVector, _VectorDumper)


class _JsonReader:
    """Reads JSON: the first values with Python's parser, then with pydantic's.

    pydantic's is eight times as fast, but its import takes as long as it saves in a thousand explanations,
    too long for a command with one search.
    """

    def __init__(self) -> None:
        self._left = 200
        self._read: Callable[[str | bytes], Any] = json.loads

    def __call__(self, value: str | bytes) -> Any:
        if self._read is json.loads:
            self._left -= 1
            if self._left <= 0:  # concurrent threads may skip zero
                from pydantic_core import from_json

                self._read = from_json
        try:
            return self._read(value)
        except ValueError:  # valid JSON of Postgres, nested too deeply for pydantic's parser
            return json.loads(value)


_read_json = _JsonReader()


def read_json_quickly(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """Makes this connection read JSON with _JsonReader."""
    set_json_loads(_read_json, connection)


_FORMATS = {
    "client_encoding": "UTF8",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "standard_conforming_strings": "on",
}
"""Formats that psycopg and the SQL functions expect. A server, a database or a role may have other
defaults."""


def formats_to_set(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any],
) -> tuple[LiteralString, list[str]] | None:
    """Returns the statement that sets the formats of ``_FORMATS``; None if the connection has them.

    The server reported its formats when it accepted the connection, so checking costs nothing. A pooler
    follows changes of these settings.
    """
    value_of = connection.info.parameter_status
    wrong = {
        name: value for name, value in _FORMATS.items() if not (value_of(name) or value).startswith(value)
    }
    if not wrong:
        return None
    changes: LiteralString = ", ".join(["set_config(%s, %s, false)"] * len(wrong))
    return f"SELECT {changes}", [part for setting in wrong.items() for part in setting]


def set_formats(connection: psycopg.Connection[Any]) -> None:
    """Gives a new connection the formats of ``_FORMATS``, for as long as it lasts."""
    if statement := formats_to_set(connection):
        connection.execute(*statement)
        if not connection.autocommit:
            connection.commit()


def is_fresh(connection: BoundedConnection | BoundedAsyncConnection) -> bool:
    """Whether the server answered within FRESH_SECONDS and has not closed the connection since."""
    if time.monotonic() - connection.last_answer_at >= FRESH_SECONDS:
        return False
    return not _something_to_read(connection.fileno())  # the end of a connection is readable


def _something_to_read(descriptor: int) -> bool:
    if sys.platform == "win32":  # has no poll; its select accepts any socket
        return bool(select.select([descriptor], [], [], 0)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _bounded(gen: PQGen[RV], connection: BoundedConnection | BoundedAsyncConnection) -> PQGen[RV]:
    """The same exchange with the server, with a check of the deadline when psycopg wakes up without data."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > connection.deadline:
                connection.pgconn.finish()
                raise NoAnswer("the server does not answer")
            wanted = gen.send(ready)
    except StopIteration as done:
        result: RV = done.value
        return result


@contextmanager
def connect(url: str, *, timeout: float = 10.0) -> Iterator[psycopg.Connection[Row]]:
    """Opens one autocommitting connection outside any pool."""
    try:
        connection: psycopg.Connection[Row] = psycopg.connect(
            url,
            autocommit=True,
            row_factory=dict_row,
            connect_timeout=max(1, round(timeout)),
            prepare_threshold=None,  # a pooler could hand what it leaves behind to others
            **keepalive_options(url),
        )
    except psycopg.ProgrammingError:
        raise _unreadable() from None  # libpq quotes the invalid part, possibly the password
    except psycopg.OperationalError as error:
        if _misread(url):
            raise _unreadable() from None
        raise DatabaseUnavailable(
            f"Postgres cannot be reached: {sentence(first_line(error))}",
            hint="Check PGRECALL_DATABASE_URL and that the server runs; without that variable pgrecall "
            "starts its own.",
        ) from error
    try:
        with connection:
            set_formats(connection)
            yield connection
    except psycopg.Error as error:
        raise translated(error) from error


def _unreadable() -> DatabaseUnavailable:
    return DatabaseUnavailable(
        "The database URL cannot be read.",
        hint="Write it as postgresql://user:password@host:5432/database, special characters %-encoded.",
    )


def _misread(url: str) -> bool:
    """Whether part of the password was read as a host or a port, as in ``user:p@ss@host``."""
    found = conninfo_to_dict(url)
    hosts, ports = str(found.get("host") or ""), str(found.get("port") or "")
    return "@" in hosts or not all(port.isdecimal() for port in ports.split(",") if port)
