"""Plans of moves that balance the sizes of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_SHARE = 0.05
"""Cells are balanced if their sizes differ by less than this share of the mean."""


@dataclass(frozen=True, slots=True)
class ProposedMove:
    """A move that a plan proposes."""

    tenant: str
    source: int
    target: int
    bytes: int


@dataclass(frozen=True, slots=True)
class BalancePlan:
    """Moves in the order in which to make them, and the bytes of tenants in each cell before and after."""

    moves: tuple[ProposedMove, ...]
    before: Mapping[int, int]
    after: Mapping[int, int]


def plan_balance(
    tenants: Sequence[tuple[str, int, int]], cells: Sequence[int], draining: Sequence[int] = ()
) -> BalancePlan:
    """Proposes moves from full cells to empty ones, largest tenants first, each tenant at most once.

    Cells that drain are emptied. Else a tenant moves only if the fuller of both cells ends up smaller.

    Args:
        tenants: name, cell and bytes of each.
        cells: every cell.
        draining: those that are to be emptied.
    """
    open_cells = [cell for cell in cells if cell not in draining]
    before = {cell: sum(held for _, at, held in tenants if at == cell) for cell in cells}
    sizes, moves, left = dict(before), [], sorted(tenants, key=lambda one: (-one[2], one[0]))
    for name, source, held in left if open_cells else ():
        if source in draining:
            target = min(open_cells, key=lambda cell: (sizes[cell], cell))
            moves.append(_moved(sizes, name, source, target, held))
    gone = {move.tenant for move in moves}
    left = [one for one in left if one[0] not in gone]
    while len(open_cells) > 1:
        fullest = max(open_cells, key=lambda cell: (sizes[cell], -cell))
        emptiest = min(open_cells, key=lambda cell: (sizes[cell], cell))
        apart = sizes[fullest] - sizes[emptiest]
        if apart <= MAX_SHARE * sum(sizes.values()) / len(open_cells):
            break
        # One of half the difference makes both even; one of all of it would only swap them.
        fitting = [one for one in left if one[1] == fullest and 0 < one[2] < apart]
        if not fitting:
            break
        best = min(fitting, key=lambda one: (abs(one[2] - apart / 2), one[0]))
        left.remove(best)
        moves.append(_moved(sizes, best[0], fullest, emptiest, best[2]))
    return BalancePlan(tuple(moves), before, sizes)


def _moved(sizes: dict[int, int], tenant: str, source: int, target: int, held: int) -> ProposedMove:
    sizes[source] -= held
    sizes[target] += held
    return ProposedMove(tenant, source, target, held)
