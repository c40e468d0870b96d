"""Checks of the cells of an installation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pgrecall.cells import replicas
from pgrecall.cells.addresses import shown
from pgrecall.cells.cell import Cell
from pgrecall.cells.claims import claimed
from pgrecall.cells.directory import CellEntry, MoveEntry
from pgrecall.cells.installation import Installation
from pgrecall.cells.moves.rights import missing_rights
from pgrecall.errors import RecallError

_MOVING = "SELECT FROM recall_cells.mover m WHERE m.tenant = %(tenant)s AND recall_cells.is_alive(m)"


@dataclass(frozen=True, slots=True)
class CellFinding:
    """The result of a check of a cell (None: of the directory): a sentence, and the fix of a failure."""

    cell: int | None
    level: Literal["ok", "warn", "fail"]
    message: str
    fix: str = ""


def check(installation: Installation) -> Iterator[CellFinding]:
    """Checks every cell: version, sequences, that each tenant lives where the directory says, and that
    nobody claims keys of others."""
    entries = installation.directory.cells()
    if not entries:
        yield CellFinding(None, "warn", "There is no cell yet.", "pgrecall cell add URL")
    arriving = {
        (move.tenant, move.target) for move in installation.directory.moves() if move.step != "flipped"
    }
    for entry in entries:
        try:
            yield from _check(installation, entry, arriving, alone=len(entries) == 1)
        except RecallError as error:
            yield CellFinding(entry.number, "fail", error.message, error.hint)
    cells = [(entry, installation.cell(entry)) for entry in entries]
    for problem, fix in claimed(installation.directory, cells):
        yield CellFinding(None, "fail", problem, fix)
    for move in installation.directory.moves():
        yield _check_move(move, under_way=_is_moving(installation, move.tenant))


def _check_move(move: MoveEntry, *, under_way: bool) -> CellFinding:
    """A move that a process is making is in order; one that nobody continues has to be continued."""
    way = f"from cell {move.source} to {move.target} ({move.step})"
    if under_way:
        return CellFinding(None, "ok", f"Tenant {move.tenant} moves {way}; a process is at it.")
    message = f"The move of tenant {move.tenant} {way} was interrupted; no process continues it."
    return CellFinding(None, "warn", message, f"pgrecall tenant move {move.tenant} --to {move.target}")


def _is_moving(installation: Installation, tenant: str) -> bool:
    """Whether a process holds the lock of `Directory.exclusive`."""
    with installation.directory.connected() as connection:
        return connection.execute(_MOVING, {"tenant": tenant}).fetchone() is not None


def _check(
    installation: Installation, entry: CellEntry, arriving: set[tuple[str, int]], *, alone: bool
) -> Iterator[CellFinding]:
    number, cell = entry.number, installation.cell(entry)
    cell.require_current()
    facts = cell.facts()
    problems = []
    if facts.number != number or facts.installation != installation.directory.installation():
        problem = "The database says that it is another cell, or none."
        problems.append((problem, "restore it, or: pgrecall cell remove"))
    if facts.outside:
        problem = f"{facts.outside} sequences are not in the range of cell {number}."
        problems.append((problem, "pgrecall upgrade, in this cell"))
    if not alone and not facts.checked:
        problem = "It does not refuse tenants of other cells."
        problems.append((problem, "run `pgrecall cell add` again with its URL"))
    if not alone:
        problems += _strays(installation, number, cell, arriving)
    for message, fix in problems:
        yield CellFinding(number, "fail", message, fix)
    if not problems:
        message = f"{shown(entry.address)}, tenants: {entry.tenants:,}, schema current."
        yield CellFinding(number, "ok", message)
    if entry.replica is not None:
        yield _check_replica(installation, entry, entry.replica)
    if not alone:
        yield from _check_rights(number, cell)


def _strays(
    installation: Installation, number: int, cell: Cell, arriving: set[tuple[str, int]]
) -> Iterator[tuple[str, str]]:
    """Tenants that live in a cell and not in the directory's: sentences, each with the fix."""
    places = {place.tenant: place.cell for place in installation.directory.places()}
    lives = {tenant for tenant, (_, elsewhere) in cell.residents().items() if elsewhere is None}
    for tenant in sorted(lives):
        home = places.get(tenant)
        if home is None:
            problem = f"Tenant {tenant} lives here, but the directory does not list it."
            yield problem, f"pgrecall tenant place {tenant} --cell {number}"
        elif home != number and (tenant, number) not in arriving:  # a cell admits its new tenant first
            yield (
                f"Tenant {tenant} lives here, but the directory places it in cell {home}.",
                "look which is right: a backup of this cell may be older than a move, or the entry of the "
                "directory wrong; docs/howto/scale.md says under Repair what to do",
            )


def _check_replica(installation: Installation, entry: CellEntry, replica: str) -> CellFinding:
    """Checks whether the standby of a cell can answer searches; otherwise the cell answers them."""
    try:
        behind = replicas.behind(installation, entry, replica)
    except RecallError as error:
        message = f"Searches go to the cell, not to its replica: {error.message}"
        fix = f"start it, or: pgrecall cell replica {entry.number} URL"
        return CellFinding(entry.number, "warn", message, fix)
    message = f"The replica at {shown(replica)} answers searches; it has {behind:,} bytes to replay."
    return CellFinding(entry.number, "ok", message)


def _check_rights(number: int, cell: Cell) -> Iterator[CellFinding]:
    """Reports what prevents moves of tenants to and from this cell; not a failure, because moves are
    optional."""
    missing = dict.fromkeys((*missing_rights(cell, "target"), *missing_rights(cell, "source")))
    for right in missing:
        yield CellFinding(number, "ok", f"No moves yet: {right.message}", right.fix)
