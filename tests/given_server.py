"""The server that PGRECALL_TEST_SERVER names, which the suite uses instead of an embedded one.

It is one for tests alone: databases come and go, the roles of pgrecall are created and stay, and autovacuum
is off during a run. Every role may log in without a password.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import psycopg
import pytest

GIVEN = os.environ.get("PGRECALL_TEST_SERVER") or None
"""Its URL, as a superuser; None where there is none."""


class Server(Protocol):
    """The server of a run."""

    @property
    def url(self) -> str: ...


@dataclass(frozen=True, slots=True)
class GivenServer:
    """A server that was there before the run and stays after it."""

    url: str


def embedded_only(why: str) -> pytest.MarkDecorator:
    """Marks tests that run on an embedded server and no other.

    Args:
        why: what they do, as in "stops its server".
    """
    return pytest.mark.skipif(GIVEN is not None, reason=_reason(why))


def own_server_only(why: str) -> None:
    """The same for fixtures: skips the test that asks for one."""
    if GIVEN is not None:
        pytest.skip(_reason(why))


def _reason(why: str) -> str:
    return f"It {why}; the server of PGRECALL_TEST_SERVER is left alone."


def template_of(testrun_uid: str) -> str:
    """The name of the database that tests of a run clone."""
    return f"recall_template_{testrun_uid[:12]}"


@contextmanager
def in_use(url: str, template: str) -> Iterator[GivenServer]:
    """The server while a worker of the run uses it; the last one removes the template of the run."""
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("SELECT pg_advisory_lock_shared(hashtext(%s))", (template,))
        leave_alone(url)
        yield GivenServer(url)
        session.execute("SELECT pg_advisory_unlock_shared(hashtext(%s))", (template,))
        [last] = session.execute("SELECT pg_try_advisory_lock(hashtext(%s))", (template,)).fetchone() or (
            False,
        )
        if last:
            session.execute(f"DROP DATABASE IF EXISTS {template}".encode())
            session.execute("ALTER SYSTEM RESET autovacuum")
            session.execute("SELECT pg_reload_conf()")


def leave_alone(url: str) -> None:
    """Turns autovacuum off, so that it changes no plan in the middle of a test."""
    with psycopg.connect(url, autocommit=True) as admin:
        if admin.execute("SHOW autovacuum").fetchone() == ("off",):
            return
        admin.execute("ALTER SYSTEM SET autovacuum = off")
        admin.execute("SELECT pg_reload_conf()")
