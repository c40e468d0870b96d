"""A copy is compared by what has changed since a snapshot, and it finds the same as comparing everything."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from pgrecall.cells.moves.changed_rows import ChangedRows
from pgrecall.cells.moves.comparing import Comparison, EndDigests
from pgrecall.cells.moves.copying import Copying
from pgrecall.errors import DatabaseError
from tests.integration.cells.conftest import Installation
from tests.integration.cells.test_move import digests, fill
from tests.scale import SCALE
from tests.waiting import PATIENCE

MAX_ROUNDS = 12 * SCALE


@pytest.fixture
def copied(movable: Installation) -> Iterator[Copying]:
    """The copy of a tenant in cell 1, which follows its changes."""
    movable.fleet.place("acme", 0)
    fill(movable.memory())
    source, target = (movable.fleet.cell(entry) for entry in movable.fleet.directory.cells())
    copying = Copying(source, target, "acme")
    copying.begin(0, timeout=PATIENCE)
    try:
        copying.wait_for_copy(lambda *_: None, timeout=PATIENCE)
        yield copying
    finally:
        copying.end()


@contextmanager
def compared(copying: Copying, limit: float = PATIENCE) -> Iterator[Comparison]:
    with Comparison(copying, timeout=PATIENCE, stop_timeout=limit) as comparison:
        yield comparison


def read_rows(end: EndDigests) -> int:
    """Rows of the schema's tables that the transaction of the end's newest snapshot has read."""
    query = (
        "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_xact_user_tables "
        "WHERE schemaname = 'recall'"
    )
    row = end._connections[0].execute(query.encode()).fetchone()
    assert row is not None
    return int(row["read"])


def exact(comparison: Comparison, installation: Installation) -> None:
    """What was corrected step by step is what is summed up at once, at each end, and both are the same."""
    assert comparison.differences() == []
    for cell, end in enumerate((comparison._source, comparison._target)):
        now = {str(row["relation"]): (row["held"], row["digest"]) for row in digests(installation, cell)}
        assert end.digests == now


def test_changes_of_every_kind_count(movable: Installation, copied: Copying) -> None:
    client, dice = movable.memory(), random.Random(7)
    with compared(copied) as comparison:
        exact(comparison, movable)
        for turn in range(24):
            kind = dice.choice(("store", "change", "use", "forget", "link"))
            name = f"winch-{dice.randrange(12)}"
            if kind == "store":
                client.remember(f"Another winch {turn}.")
            elif kind == "change":
                client.remember(f"The winch is green since {turn}.", key=name)
            elif kind == "use":
                client.record_access(client.remember("Again.", key=name).id, "used")
            elif kind == "forget":
                client.forget(client.remember("Soon gone.", key=f"gone-{turn}").id)
            else:
                client.remember("Both.", key=name)
                client.link(name, client.remember("A keel.", key="keel").key or "keel")
            if turn % 8 == 5:
                assert comparison.run_round(PATIENCE) > 0
        exact(comparison, movable)
        assert comparison.run_round(PATIENCE) == 0


def test_a_key_that_changes_counts_twice(movable: Installation, copied: Copying) -> None:
    with compared(copied) as comparison:
        movable.ask(0, "UPDATE recall.lexeme SET word = word || 'x' WHERE tenant = 'acme'")
        movable.ask(0, "UPDATE recall.name SET name = name || ' x' WHERE tenant = 'acme'")
        movable.ask(
            0, "UPDATE recall.access SET recorded_at = recorded_at - interval '1 s' WHERE tenant = 'acme'"
        )
        assert comparison.run_round(PATIENCE) > 2
        exact(comparison, movable)


def test_a_transaction_that_commits_after_a_round_is_in_the_next(
    movable: Installation, copied: Copying
) -> None:
    change = "UPDATE recall.memory SET body = 'Changed.' WHERE tenant = 'acme' AND key = %s"
    with compared(copied) as comparison:
        with psycopg.connect(movable.cells[0]) as one, psycopg.connect(movable.cells[0]) as two:
            one.execute(change, ("winch-1",))
            two.execute(change, ("winch-2",))
            assert comparison.run_round(PATIENCE) == 0
            two.commit()
            assert comparison.run_round(PATIENCE) == 1
            one.commit()
        assert comparison.run_round(PATIENCE) == 1
        exact(comparison, movable)


def test_commits_beside_every_step_are_never_missed(movable: Installation, copied: Copying) -> None:
    """Rounds while others write: whatever falls between a snapshot and the reading of the log is found."""
    stop, failed = threading.Event(), []

    def write(writer: int) -> None:
        with psycopg.connect(movable.cells[0], autocommit=True) as connection:
            number = 0
            while not stop.is_set():
                try:
                    connection.execute(
                        "UPDATE recall.memory SET body = %s WHERE tenant = 'acme' AND key = %s",
                        (f"Body {writer}-{number}.", f"winch-{3 * writer + number % 3}"),
                    )
                except psycopg.Error as error:
                    failed.append(error)
                number += 1
                stop.wait(0.002)  # the rounds need the processor too

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    with compared(copied) as comparison:
        for thread in threads:
            thread.start()
        try:
            changed = [comparison.run_round(PATIENCE) for _ in range(MAX_ROUNDS)]
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert failed == []
        assert sum(changed) > MAX_ROUNDS
        exact(comparison, movable)


def test_it_does_not_wait_until_a_quiet_server_writes_its_log(movable: Installation, copied: Copying) -> None:
    """A commit that nobody waited for is on disk seconds later, and only then would it be sent."""
    with psycopg.connect(movable.cells[0], autocommit=True) as source:
        source.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
        source.execute("SELECT pg_reload_conf()")
        try:
            source.execute("SET synchronous_commit = off")
            for number in range(5):  # otherwise it may be written just then
                source.execute(
                    "UPDATE recall.memory SET body = %s WHERE tenant = 'acme' AND key = 'winch-1'",
                    (f"{number}.",),
                )
                copied.catch_up(timeout=5.0, to_the_end=True)
        finally:
            source.execute("ALTER SYSTEM RESET wal_writer_delay")
            source.execute("SELECT pg_reload_conf()")
    rows = movable.ask(1, "SELECT body FROM recall.memory WHERE tenant = 'acme' AND key = 'winch-1'")
    assert rows == [{"body": "4."}]


@pytest.mark.parametrize("step", ["source", "target", "changes", "arrive"])
def test_a_commit_between_two_steps_of_a_round(
    movable: Installation, copied: Copying, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A commit right after a step, which the target applies before the next one."""
    holder, name = {
        "source": (EndDigests, "take_snapshot"), "target": (EndDigests, "take_snapshot"),
        "changes": (ChangedRows, "read"),
        "arrive": (Comparison, "_wait_for_target"),
    }[step]  # fmt: skip
    real = getattr(holder, name)

    def then_commit(self: object, *given: object) -> object:
        done = real(self, *given)
        if step not in ("source", "target") or self is getattr(comparison, f"_{step}"):
            movable.ask(0, "UPDATE recall.memory SET body = body || '!' WHERE tenant = 'acme'")
            copied.catch_up(timeout=PATIENCE, to_the_end=True)
        return done

    with compared(copied) as comparison:
        with monkeypatch.context() as patched:
            patched.setattr(holder, name, then_commit)
            for _ in range(3):
                comparison.run_round(PATIENCE)
        exact(comparison, movable)


def test_what_was_undone_and_what_another_tenant_does_counts_nothing(
    movable: Installation, copied: Copying
) -> None:
    movable.fleet.place("beta", 0)
    with compared(copied) as comparison:
        with psycopg.connect(movable.cells[0]) as other:
            other.execute("UPDATE recall.memory SET body = 'Not so.' WHERE tenant = 'acme'")
            other.rollback()
        movable.memory("beta").remember("Something else.")
        assert comparison.run_round(PATIENCE) == 0
        exact(comparison, movable)


def test_differences_are_found(movable: Installation, copied: Copying) -> None:
    """From before the comparison; of a row that changes; of a row that is only in the copy."""
    stray = "UPDATE recall.memory SET body = 'Another text.' WHERE tenant = 'acme' AND key = 'winch-3'"
    movable.ask(1, stray)
    with compared(copied) as comparison:
        assert comparison.differences() == ["memory"]
        movable.ask(0, stray)  # the copy gets the same text
        assert comparison.differences() == []
        movable.ask(1, "DELETE FROM recall.link WHERE tenant = 'acme'")
        movable.ask(0, "UPDATE recall.link SET created_at = now() WHERE tenant = 'acme'")
        assert comparison.differences() == ["link"]
    with compared(copied) as comparison:
        assert comparison.differences() == ["link"]


def test_a_round_reads_what_has_changed_and_nothing_else(movable: Installation, copied: Copying) -> None:
    """Rows read by a round, in a tenant of 3,000 more memories: as many as changed, at both ends."""
    movable.ask(
        0,
        "INSERT INTO recall.memory (tenant, layer, title, body) "
        "SELECT 'acme', 'episodic', '', 'Filler ' || g FROM generate_series(1, 3000) g",
    )
    with compared(copied) as comparison:
        comparison.converge()
        for cell in (0, 1):
            movable.ask(cell, "ANALYZE recall.memory")
        for name in ("winch-1", "winch-2"):
            movable.ask(
                0, f"UPDATE recall.memory SET body = 'Changed.' WHERE tenant = 'acme' AND key = '{name}'"
            )
        assert comparison.run_round(PATIENCE) == 2
        assert [read_rows(end) for end in (comparison._source, comparison._target)] == [2, 2]
        exact(comparison, movable)


def test_a_long_transaction_is_told_before_any_writer_waits(movable: Installation, copied: Copying) -> None:
    with psycopg.connect(movable.cells[0]) as other:
        other.execute("CREATE TEMPORARY TABLE long_one ()")
        with (
            pytest.raises(DatabaseError, match=r"have run for more than 0\.3 s"),
            compared(copied, limit=0.3),
        ):
            pass
    assert movable.ask(0, "SELECT FROM pg_replication_slots WHERE temporary") == []


def test_nothing_is_left_of_a_comparison(movable: Installation, copied: Copying) -> None:
    with compared(copied):
        assert len(movable.ask(0, "SELECT FROM pg_replication_slots WHERE temporary")) == 1
    assert movable.ask(0, "SELECT FROM pg_replication_slots WHERE temporary") == []
