"""What breaks during the day. Each fault checks what the documentation promises: all, nothing, or once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgrecall.errors import DatabaseTimeout, DatabaseUnavailable
from tests.model.faces import as_json
from tests.model.stage import Face, Reached
from tests.waiting import until

if TYPE_CHECKING:
    from tests.oracle.day import Day

KILL = "SELECT pg_terminate_backend(%s, 10000)"


def cancelled(day: Day, tenant: Reached, _: Face) -> None:
    """A statement timeout in a transaction that stored and recorded: nothing is left."""
    connection = _in_transaction(day, tenant)
    connection.execute("SET LOCAL statement_timeout = 1")
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT pg_sleep(600)")
    connection.execute("ROLLBACK")


def killed(day: Day, tenant: Reached, _: Face) -> None:
    """A backend ends before the commit of a transaction that stored and recorded: nothing is left."""
    connection = _in_transaction(day, tenant)
    day.world.admin.execute(KILL, (connection.info.backend_pid,))
    with pytest.raises(psycopg.OperationalError):
        connection.execute("COMMIT")
    tenant.sql.close()


def _in_transaction(day: Day, tenant: Reached) -> psycopg.Connection[dict[str, Any]]:
    drafts, items = [day.draft(tenant)], day.uses(tenant, send=False)
    connection = tenant.sql.connection
    connection.execute("BEGIN")
    connection.execute("SELECT set_config('recall.tenant', %s, true)", (tenant.book.tenant,))
    connection.execute("SELECT FROM recall.remember_many(%s, p_now => %s)", (as_json(drafts), day.now))
    connection.execute("SELECT recall.record_accesses(%s, %s)", (as_json(items), day.now))
    return connection


def too_slow(day: Day, tenant: Reached, _: Face) -> None:
    """A call of a client with a time limit meets a lock: it gives up and leaves nothing."""
    items = [{**each, "idempotency_key": None} for each in day.uses(tenant, send=False)]
    with day.world.locked(), pytest.raises(DatabaseTimeout):
        day.world.hasty(tenant).record(items, day.now)


def idle_cut(day: Day, tenant: Reached, face: Face) -> None:
    """Every idle connection breaks: the next call takes another one."""
    day.world.line.cut()
    day.world.end_backends()
    for each in day.world.tenants:
        each.sql.close()
    day.record(tenant, face)


def lost_answer(day: Day, tenant: Reached, _: Face) -> None:
    """The answer to accesses with keys is lost: the client asks again, and each counts once."""
    if items := _with_keys(day, tenant):
        _meanwhile(day, lambda: tenant.client.record(items, day.now), lambda _: day.world.line.lose_answers())
        tenant.book.record(items, day.now)


def lost_store(day: Day, tenant: Reached, _: Face) -> None:
    """The answer to drafts is lost: the client says so, and all of them are stored or none."""
    drawn = [day.draft(tenant) for _ in range(3)]
    drafts = [draft for draft in drawn if tenant.book.by_key(draft["key"]) is None]
    if not drafts:
        return
    problems = _meanwhile(
        day, lambda: tenant.client.remember(drafts, day.now), lambda _: day.world.line.lose_answers()
    )
    assert isinstance(problems, DatabaseUnavailable), problems
    keys = [draft["key"] for draft in drafts]
    rows = tenant.sql.rows("content_hashes(%s)", keys)
    assert len(rows) in (0, len(keys)), rows
    if rows:
        stored = [(tenant.sql.value("id_of(%s)", key), "created") for key in keys]
        day.stored(tenant, drafts, stored, "client")


def killed_meanwhile(day: Day, tenant: Reached, face: Face) -> None:
    """A backend ends under a call that may be repeated: client and service repeat it, and it counts once."""
    chosen = tenant.client if face.name == "sql" else face
    if items := _with_keys(day, tenant):
        count = _meanwhile(
            day, lambda: chosen.record(items, day.now), lambda pid: day.world.admin.execute(KILL, (pid,))
        )
        assert count == tenant.book.record(items, day.now), count


def _with_keys(day: Day, tenant: Reached) -> list[dict[str, Any]]:
    return [each for each in day.uses(tenant) if each["idempotency_key"] is not None]


def _meanwhile(day: Day, call: Callable[[], object], deed: Callable[[int], object]) -> object:
    """Does something while a call waits for a lock, then lets it go; its answer, or its error."""
    answers: list[object] = []

    def run() -> None:
        try:
            answers.append(call())
        except Exception as problem:  # noqa: BLE001 (whoever asked looks at it)
            answers.append(problem)

    calling = threading.Thread(target=run)
    with day.world.locked():
        calling.start()
        waiting = until(lambda: answers or day.world.blocked(), "a wait")
        if isinstance(waiting, int):
            deed(waiting)
        else:
            assert answers == [0], f"it did not wait: {answers}"  # nothing waits whose keys are all known
    calling.join()
    day.world.line.cut()
    return answers[0]


FAULTS = {
    cancelled: 2, killed: 2, too_slow: 1, idle_cut: 1, lost_answer: 2, lost_store: 1, killed_meanwhile: 2,
}  # fmt: skip
"""How often each comes, beside calls that nothing disturbs."""
