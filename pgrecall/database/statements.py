"""What every transaction of a pool begins with, and what may become of it, in both kinds of pool."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import psycopg
import psycopg.errors
from psycopg.rows import dict_row
from psycopg_pool import PoolTimeout

from pgrecall.database.connections import NoAnswer, kept_alive
from pgrecall.database.error_translation import translated
from pgrecall.database.server import Call
from pgrecall.errors import DatabaseBusy, DatabaseTimeout, DatabaseUnavailable

GRACE = 1.0
"""Seconds beyond its timeout that a transaction waits for the server to say that it broke off."""

Statement = tuple[str, Mapping[str, object]]


class CountsErrors(Protocol):
    """A pool, as far as it tells of itself."""

    def get_stats(self) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections, and how many seconds: to get one, and for a call to be answered (None: any)."""

    pool_size: int
    connect_timeout: float
    timeout: float | None
    answered: dict[int, int] = field(default_factory=dict, compare=False, repr=False)
    """How many connections each pool had failed to make when a call of it last had one."""

    def pool_arguments(self, url: str) -> dict[str, Any]:
        """What both kinds of pool of connections to this URL are made with."""
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
                **kept_alive(url),
            },
            "name": "pgrecall",
        }

    def deadline(self) -> float:
        """Until when a transaction that begins now waits for the server."""
        return math.inf if self.timeout is None else time.monotonic() + self.timeout + GRACE

    def check_deadline(self) -> float:
        """Until when a connection may take to show that it still works."""
        return time.monotonic() + self.connect_timeout / 3  # so that another can be tried

    def opening(self, tenant: str, *, durable: bool) -> Statement:
        """The first statement of a transaction for a tenant: one, for each costs the client some time."""
        calls = ["set_config('recall.tenant', %(tenant)s, true)"]
        values: dict[str, object] = {"tenant": tenant}
        if not durable:
            calls.append("set_config('synchronous_commit', 'off', true)")
        if self.timeout is not None:
            calls.append("set_config('statement_timeout', %(limit)s, true)")
            values["limit"] = str(max(1, round(self.timeout * 1000)))
        return f"SELECT {', '.join(calls)}", values

    def statements(self, call: Call, tenant: str) -> tuple[Statement, ...]:
        """What to send for one call of a tenant.

        It alone, where it is ``acting`` for its parameter ``tenant`` and may take any time: a limit must be
        set before the statement that it limits begins.
        """
        parameters = {**call.parameters, "tenant": tenant} if call.acting else call.parameters
        if call.acting and self.timeout is None:
            return ((call.sql, parameters),)
        return self.opening(tenant, durable=call.durable), (call.sql, parameters)

    @contextmanager
    def our_errors(self, pool: CountsErrors) -> Iterator[None]:
        """Whatever goes wrong inside, as an error of :mod:`pgrecall.errors`."""
        began = time.monotonic()
        try:
            yield
            self.answered[id(pool)] = pool.get_stats().get("connections_errors", 0)
        except PoolTimeout as error:
            # A pool that pauses between two attempts makes none during a short call.
            failed = pool.get_stats().get("connections_errors", 0)
            unreachable = failed > self.answered.get(id(pool), 0)
            raise self._no_connection(unreachable) from error
        except NoAnswer as error:
            raise self._too_slow(None) from error
        except psycopg.errors.QueryCanceled as error:
            if self.timeout is not None and time.monotonic() - began >= self.timeout:
                raise self._too_slow(error.sqlstate) from error
            raise translated(error) from error
        except psycopg.Error as error:
            raise translated(error) from error

    def _no_connection(self, unreachable: bool) -> DatabaseUnavailable:
        seconds = f"{self.connect_timeout:g} s"
        if unreachable:
            return DatabaseUnavailable(
                f"No connection to Postgres could be made for {seconds}.", hint="Check that the server runs."
            )
        return DatabaseBusy(
            f"No connection to Postgres became free within {seconds}.",
            hint="Raise PGRECALL_POOL_SIZE, or ask again when there is less to do.",
        )

    def _too_slow(self, sqlstate: str | None) -> DatabaseTimeout:
        return DatabaseTimeout(
            f"Postgres did not finish within {self.timeout:g} s, and the call was broken off.",
            hint="Ask again when there is less to do, or give the client a longer timeout.",
            sqlstate=sqlstate,
        )
