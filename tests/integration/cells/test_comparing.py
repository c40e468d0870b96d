"""A copy is compared by what has changed since a snapshot, and it finds the same as comparing everything."""

from __future__ import annotations

import random

import psycopg
import pytest

from pgrecall.cells.comparing import Comparison
from tests.integration.cells.conftest import Installation
from tests.integration.cells.test_move import fill


def same(comparison: Comparison) -> bool:
    """Whether what was summed up step by step is what is summed up at once, at each end."""
    for end in comparison._ends:
        assert end.digests_of_now() == end.all_digests()
    return comparison.differences() == []


@pytest.fixture
def both(two_cells: Installation) -> Installation:
    """Two cells that are compared with themselves: cell 0 stands for both ends."""
    two_cells.fleet.place("acme", 0)
    fill(two_cells.memory())
    return two_cells


def compared(installation: Installation) -> Comparison:
    [cell, _] = (installation.fleet.cell(entry) for entry in installation.fleet.directory.cells())
    return Comparison(cell, cell, "acme")


def test_changes_of_every_kind_count(both: Installation) -> None:
    client, dice = both.memory(), random.Random(7)
    with compared(both) as comparison:
        assert same(comparison)
        for turn in range(20):
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
        assert same(comparison)


def test_rows_that_several_lock_together_and_then_change(both: Installation) -> None:
    ids = [row["id"] for row in both.ask(0, "SELECT id FROM recall.memory WHERE tenant = 'acme' ORDER BY 1")]
    lock = "SELECT FROM recall.memory WHERE tenant = 'acme' AND id = %s FOR KEY SHARE"
    change = "UPDATE recall.memory SET body = 'Changed.' WHERE tenant = 'acme' AND id = %s"
    url = both.cells[0]
    with psycopg.connect(url) as one, psycopg.connect(url) as two, compared(both) as comparison:
        for number in ids[:4]:
            one.execute(lock, (number,))
            two.execute(lock, (number,))
        # The old version of a row that others hold is marked by the group.
        two.execute(change, ids[:1])
        one.execute(change, ids[1:2])
        one.commit()
        two.commit()
        assert same(comparison)


def test_what_was_undone_and_what_another_tenant_does_counts_nothing(both: Installation) -> None:
    both.fleet.place("beta", 0)
    with compared(both) as comparison:
        with psycopg.connect(both.cells[0]) as other:
            other.execute("UPDATE recall.memory SET body = 'Not so.' WHERE tenant = 'acme'")
            other.rollback()
        both.memory("beta").remember("Something else.")
        assert same(comparison)


def test_a_difference_from_before_or_after_is_found(both: Installation) -> None:
    [zero, one] = (both.fleet.cell(entry) for entry in both.fleet.directory.cells())
    with Comparison(zero, one, "acme") as comparison:
        assert "memory" in comparison.differences()
    with compared(both) as comparison:
        assert comparison.differences() == []
    with Comparison(zero, zero, "acme") as comparison:
        ours, theirs = comparison._ends
        both.ask(0, "UPDATE recall.memory SET body = 'Another text.' WHERE key = 'winch-3'")
        assert ours.digests_of_now() == theirs.digests_of_now() != ours._before
