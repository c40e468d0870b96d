"""Upgrades of an installation: its directory, then its cells, one after the other while the others serve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgrecall.errors import DatabaseUnavailable, InvalidInput
from pgrecall.schema import migrate

if TYPE_CHECKING:
    from pgrecall.cells.directory import CellEntry
    from pgrecall.cells.fleet import Fleet


@dataclass(frozen=True, slots=True)
class CellUpgrade:
    """The outcome of one cell: an upgrade, or the error of a cell that could not be reached."""

    cell: int
    done: migrate.Upgrade | None
    problem: DatabaseUnavailable | None = None


def upgrade_cells(fleet: Fleet, only: int | None = None) -> Iterator[CellUpgrade]:
    """Upgrades the directory and every cell, or ``only`` one. A cell that is down does not stop the others.

    Raises:
        InvalidInput: a tenant is being copied to or from a cell, or there is no such cell.
        SchemaMismatch: there is no directory, or a cell belongs to a newer pgrecall.
    """
    if not fleet.directory.is_installed():
        raise fleet.directory.mismatch()
    fleet.directory.install()
    cells = fleet.directory.cells() if only is None else (fleet.directory.cell(only),)
    _require_no_copies(fleet, {entry.number for entry in cells})
    for entry in cells:
        yield _upgraded(fleet, entry)


def _upgraded(fleet: Fleet, entry: CellEntry) -> CellUpgrade:
    url = fleet.directory.url_of(entry.address)
    try:
        return CellUpgrade(entry.number, migrate.upgrade(url, timeout=fleet.timeout))
    except DatabaseUnavailable as error:
        return CellUpgrade(entry.number, None, error)


def _require_no_copies(fleet: Fleet, numbers: set[int]) -> None:
    """Rows that are being copied need the same tables on both sides."""
    for move in fleet.directory.moves():
        if move.step != "flipped" and numbers & {move.source, move.target}:
            raise InvalidInput(
                f"Tenant {move.tenant} is being copied from cell {move.source} to {move.target}.",
                hint=f"Finish it: pgrecall tenant move {move.tenant} --to {move.target}; or --undo it.",
            )
