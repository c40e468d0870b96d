"""Limits, opening statements and error handling that both kinds of pool share."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import psycopg
import psycopg.errors
from psycopg.rows import dict_row
from psycopg_pool import PoolTimeout

from pgrecall.database.calling_interface import current_interface
from pgrecall.database.connections import (
    BoundedAsyncConnection,
    BoundedConnection,
    NoAnswer,
    keepalive_options,
)
from pgrecall.database.error_translation import translated
from pgrecall.database.log_positions import REPLICA_COLUMNS
from pgrecall.database.server import Call
from pgrecall.errors import DatabaseBusy, DatabaseTimeout, DatabaseUnavailable, SchemaMismatch
from pgrecall.settings import PreparedStatements

GRACE = 1.0
"""Seconds after its timeout that a transaction waits for the server to confirm the cancellation."""

PREPARE_AFTER = 5
"""Executions of a statement by a connection after which it is prepared on the server."""

FIRST_SEARCH_SECONDS = 1.0
"""Seconds that preparing a connection may take: a call may wait for it."""

Statement = tuple[str, Mapping[str, object]]


class CountsErrors(Protocol):
    """A pool that reports statistics."""

    def get_stats(self) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a pool.

    Attributes:
        pool_size: maximum number of connections.
        connect_timeout: seconds to get a connection.
        timeout: seconds for the answer of a call; None sets no limit.
        refusals: seconds to try again while the server refuses connections; None is ``connect_timeout``.
    """

    pool_size: int
    connect_timeout: float
    timeout: float | None
    prepared_statements: PreparedStatements = "auto"
    refusals: float | None = None
    unusable: Mapping[str, str] = field(default_factory=dict)
    """Functions of a schema of another version that may not be called, by name, with the reason."""
    first_search: tuple[Call, str] | None = None
    """A search, and its tenant, that every new connection makes before it is used; see ``warming``."""
    answered: dict[int, int] = field(default_factory=dict, compare=False, repr=False)
    """Failed connection attempts of each pool when a call last got a connection."""

    def within(self, seconds: float | None) -> Limits:
        """The same with at most so many seconds for a call; None: as they are."""
        if seconds is None or (self.timeout is not None and self.timeout <= seconds):
            return self
        return replace(self, timeout=seconds)

    def pool_arguments(self, url: str) -> dict[str, Any]:
        """Returns the arguments of both kinds of pool."""
        return {
            "min_size": 0,
            "max_size": self.pool_size,
            "timeout": self.connect_timeout,
            "reconnect_timeout": self.connect_timeout,  # its pauses grow with it: from 1 s to minutes
            "open": False,
            "kwargs": {
                "autocommit": True,
                "row_factory": dict_row,
                "connect_timeout": max(1, round(self.connect_timeout)),
                "prepare_threshold": None if self.prepared_statements == "off" else PREPARE_AFTER,
                **keepalive_options(url),
            },
            "name": "pgrecall",
        }

    def adapt(self, connection: BoundedConnection | BoundedAsyncConnection, pooled: bool) -> None:
        """Notes whether a new connection leads to a pooler; without prepared statements it always may."""
        connection.pooled = pooled or self.prepared_statements == "off"
        if pooled and self.prepared_statements == "auto":
            connection.prepare_threshold = None

    def deadline(self) -> float:
        """Returns the deadline of a transaction that begins now."""
        return math.inf if self.timeout is None else time.monotonic() + self.timeout + GRACE

    def check_deadline(self) -> float:
        """Returns the deadline for checking that a connection still works."""
        return time.monotonic() + self.connect_timeout / 3  # so that another can be tried

    def opening(self, tenant: str, *, durable: bool, reader: str | None = None) -> Statement:
        """Returns the first statement of a transaction for a tenant: a single one, to save round trips.

        With a ``reader`` it only reads what the tenant shares with that one; the database checks it.
        """
        calls = [
            "set_config('recall.tenant', %(tenant)s, true)",
            # Also where there is none: a pooler may hand on a session in which it was set, and every
            # transaction of a standby is read-only.
            "set_config('recall.shared_tenant', %(shared)s, true)",
            "set_config('recall.interface', %(interface)s, true)",
            # A database whose default rounds numbers would answer with other scores. The server does not
            # report this format and poolers do not follow it, so each transaction sets it.
            "set_config('extra_float_digits', '1', true)",
        ]
        values: dict[str, object] = {
            "tenant": reader or tenant,
            "shared": "" if reader is None else tenant,
            "interface": current_interface(),
        }
        if reader is not None:
            calls.append("set_config('transaction_read_only', 'on', true)")
        if not durable:
            calls.append("set_config('synchronous_commit', 'off', true)")
        if self.timeout is not None:
            calls.append("set_config('statement_timeout', %(limit)s, true)")
            values["limit"] = str(max(1, round(self.timeout * 1000)))
        return f"SELECT {', '.join(calls)}", values

    def statements(self, call: Call, tenant: str, reader: str | None = None) -> tuple[Statement, ...]:
        """Returns the statements for one call of a tenant, or of a ``reader`` with which it is shared.

        This is the call alone if it is ``acting`` for its parameter ``tenant`` and has no time limit, because
        a limit must be set before the statement begins.
        """
        self._require_usable(call)
        parameters = {**call.parameters, "tenant": reader or tenant} if call.acting else call.parameters
        if call.acting and self.timeout is None and reader is None:
            return ((call.sql, parameters),)
        return self.opening(tenant, durable=call.durable, reader=reader), (call.sql, parameters)

    def warming(self, connection: BoundedConnection | BoundedAsyncConnection) -> tuple[Statement, ...]:
        """Returns the statements of the first search of this new connection.

        There are none if it is not wanted, or if a pooler would keep what it prepares.
        """
        if self.first_search is None or self.unusable or connection.pooled:
            return ()
        within = self.within(FIRST_SEARCH_SECONDS)
        connection.deadline = within.deadline()
        return within.statements(*self.first_search)

    def replica_statements(self, call: Call, tenant: str) -> tuple[Statement, Statement]:
        """Returns the statements for one read of a standby. The first asks how far it has replayed
        the log of which primary: each answer says so, because an address may lead elsewhere at any time.

        Each statement sees what is committed when it begins, so the second sees at least as much.
        """
        self._require_usable(call)
        opening, values = self.opening(tenant, durable=True)
        parameters = {**call.parameters, "tenant": tenant} if call.acting else call.parameters
        return (f"{opening}, {REPLICA_COLUMNS}", values), (call.sql, parameters)

    def _require_usable(self, call: Call) -> None:
        if self.unusable:  # it may change while the client is open
            for name in re.findall(r"\brecall\.(\w+)\(", call.sql):
                if name in self.unusable:
                    raise SchemaMismatch(self.unusable[name])

    def waits(self, timeout: float | None) -> tuple[float, float]:
        """Seconds to wait for a connection: at first, and again unless the server refuses connections."""
        whole = self.connect_timeout if timeout is None else timeout
        first = whole if self.refusals is None else min(self.refusals, whole)
        return first, whole - first

    def is_refused(self, pool: CountsErrors) -> bool:
        """Whether attempts to connect have failed since a call last got a connection."""
        return pool.get_stats().get("connections_errors", 0) > self.answered.get(id(pool), 0)

    @contextmanager
    def translating_errors(self, pool: CountsErrors) -> Iterator[None]:
        """Translates every database error inside to an error of :mod:`pgrecall.errors`."""
        began = time.monotonic()
        try:
            yield
            self.answered[id(pool)] = pool.get_stats().get("connections_errors", 0)
        except PoolTimeout as error:
            # A pool that pauses between two attempts makes none during a short call.
            raise self._connection_error(self.is_refused(pool), time.monotonic() - began) from error
        except NoAnswer as error:
            raise self._timeout_error(None) from error
        except psycopg.errors.QueryCanceled as error:
            if self.timeout is not None and time.monotonic() - began >= self.timeout:
                raise self._timeout_error(error.sqlstate) from error
            raise translated(error) from error
        except psycopg.Error as error:
            raise translated(error) from error

    def _connection_error(self, unreachable: bool, waited: float) -> DatabaseUnavailable:
        if unreachable:
            # A refusal may have ended the wait before the whole time was over.
            seconds = min(round(waited, 1), self.connect_timeout)
            return DatabaseUnavailable(
                f"No connection to Postgres could be made for {seconds:g} s.",
                hint="Check that the server runs.",
            )
        return DatabaseBusy(
            f"No connection to Postgres became free within {self.connect_timeout:g} s.",
            hint="Raise PGRECALL_POOL_SIZE, or try again when the server is less busy.",
        )

    def _timeout_error(self, sqlstate: str | None) -> DatabaseTimeout:
        return DatabaseTimeout(
            f"Postgres did not finish within {self.timeout:g} s, so the call was cancelled.",
            hint="Try again when the server is less busy, or give the client a longer timeout.",
            sqlstate=sqlstate,
        )
