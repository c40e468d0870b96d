"""Which moves balance the cells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pgrecall.cells.moves.balance import plan_balance

TENANTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 10**9)), max_size=30
).map(lambda found: [(f"t{number}", cell, held) for number, (cell, held) in enumerate(found)])  # fmt: skip


def test_an_even_fleet_stays() -> None:
    assert plan_balance([("a", 0, 100), ("b", 1, 101)], [0, 1]).moves == ()


def test_half_of_the_difference_moves() -> None:
    plan = plan_balance([("a", 0, 60), ("b", 0, 40), ("c", 0, 10)], [0, 1])
    assert [(move.tenant, move.source, move.target) for move in plan.moves] == [("a", 0, 1)]
    assert (plan.before, plan.after) == ({0: 110, 1: 0}, {0: 50, 1: 60})


def test_a_draining_cell_is_emptied() -> None:
    plan = plan_balance([("a", 0, 60), ("b", 0, 0), ("c", 1, 10)], [0, 1], [0])
    assert {move.tenant for move in plan.moves} == {"a", "b"}
    assert plan.after == {0: 0, 1: 70}


def test_with_one_cell_there_is_nothing_to_do() -> None:
    assert plan_balance([("a", 0, 60)], [0]).moves == ()
    assert plan_balance([("a", 0, 60)], [0], [0]).moves == ()


@given(TENANTS, st.sets(st.integers(0, 3)))
def test_laws(tenants: list[tuple[str, int, int]], draining: set[int]) -> None:
    plan = plan_balance(tenants, range(4), sorted(draining))
    where = {name: (cell, held) for name, cell, held in tenants}
    for move in plan.moves:  # each tenant once, from where it is, to a cell that takes tenants
        assert where.pop(move.tenant) == (move.source, move.bytes)
        assert move.target != move.source
        assert move.target not in draining
    assert sum(plan.before.values()) == sum(plan.after.values())
    open_cells = [cell for cell in range(4) if cell not in draining]
    if open_cells:
        assert all(plan.after[cell] == 0 for cell in draining)
    if not draining:  # never more uneven than before
        assert max(plan.after.values()) <= max(plan.before.values())
