"""What transactions have to do with a move: those that are open, and the numbers of those in the log."""

from __future__ import annotations

import psycopg
import pytest

from pgrecall.cells.moves.move import Mover
from pgrecall.errors import DatabaseError
from tests.integration.cells.conftest import Installation
from tests.integration.cells.test_move import clean
from tests.waiting import until


def test_changes_go_on_in_a_new_era_on_another_server(movable: Installation) -> None:
    """Where the numbers of transactions are others, here below those that the tenant brought."""
    movable.fleet.place("acme", 0)
    client = movable.memory()
    client.remember("Before", key="before")
    movable.ask(0, "UPDATE recall.memory_change SET xid = xid + 1000000000")
    [last] = movable.ask(0, "SELECT format('%s-%s-%s', era, xid, id) AS cursor FROM recall.memory_change")
    Mover(movable.fleet).move("acme", 1)
    mark = """UPDATE recall.setting SET value = value || '{"server": "12345 00000001"}' """
    movable.ask(1, f"{mark} WHERE tenant = 'acme' AND name = 'changes.era'")
    client.remember("After", key="after")

    def read(since: str | None) -> list[str | None]:
        return [change.key for change in client.history.changes(since)]

    assert until(lambda: read(str(last["cursor"])), "changes after the move") == ["after"]
    assert read(None) == ["before", "after"]
    Mover(movable.fleet).finish("acme")
    clean(movable)


def test_a_transaction_from_before_a_move_does_not_hold_it_for_ever(
    movable: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    movable.fleet.place("acme", 0)
    client = movable.memory()
    client.remember("It stays here.")
    with psycopg.connect(movable.cells[0]) as other, monkeypatch.context() as patched:
        other.execute("CREATE TEMPORARY TABLE long_one ()")
        patched.setattr("pgrecall.cells.moves.move.COPY_TIMEOUT", 0.3)
        with pytest.raises(DatabaseError, match=r"have run for more than 0\.3 s"):
            Mover(movable.fleet).move("acme", 1)
    client.remember("It goes on here.")
    assert Mover(movable.fleet).undo("acme") == 0
    clean(movable)
