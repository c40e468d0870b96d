"""Moving a tenant to another cell while it is used.

    begun     rows are being copied; the tenant is read and written at the source
    flipped   the tenant lives at the target; the source still has its rows, and refuses it

In between, both sides are compared while the tenant is written to. Then writers are refused for a moment,
while the target catches up and the latest changes are compared. Then the source releases the tenant, the
target takes it, and the directory records it, in this order, so that the tenant is never in two cells. Every
step checks which steps are done, so the same call continues after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from pgrecall.cells.directory import MoveEntry, Place
from pgrecall.cells.fleet import Fleet
from pgrecall.cells.moves.comparing import Comparison, CopyDiffers
from pgrecall.cells.moves.copying import Copying
from pgrecall.errors import DatabaseError, InvalidInput

Report = Callable[[str], None]

COPY_TIMEOUT = 600.0
"""Seconds without progress after which a copy counts as stuck."""

STOP_TIMEOUT = 10.0
"""Seconds after which refused writers go on at the source, and the flip is tried again."""

ATTEMPTS = 3

MEMORIES_PER_SECOND = 400
"""Memories that are copied, indexed and compared in a second, for the estimate of a dry run
(``benchmarks/cells.py``: 100,000 in 259 s)."""


@dataclass(frozen=True, slots=True)
class MovePlan:
    """What a move would copy, and about how many seconds it would take."""

    tenant: str
    source: int
    target: int
    memories: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Moved:
    """A finished move: its duration in seconds, and the seconds for which writers were refused."""

    tenant: str
    source: int
    target: int
    seconds: float
    stopped: float


class Mover:
    """Moves tenants between the cells of an installation.

    Args:
        fleet: the cells.
        report: called with a sentence for each step.
    """

    def __init__(self, fleet: Fleet, report: Report = lambda _: None) -> None:
        self._fleet = fleet
        self._report = report

    def plan(self, tenant: str, target: int) -> MovePlan:
        """Checks a move and returns what it would do. Changes nothing.

        Raises:
            InvalidInput: there is no such tenant or cell, it lives there already, is being moved elsewhere,
                or the cell has no room.
            DatabaseUnsuitable, DatabaseUnavailable, SchemaMismatch: a server cannot do it.
        """
        entry = self._entry(tenant)
        source, copying = self._checked(tenant, target, entry)
        copying.require_possible()
        homes = [cell.residents().get(tenant, ("gone", target)) for cell in (copying.source, copying.target)]
        if all(elsewhere is None for _, elsewhere in homes):
            raise InvalidInput(
                f"Tenant {tenant} lives in cell {source} and in cell {target}.",
                hint="Compare both, then delete it from one of them: docs/howto/scale.md.",
            )
        memories, held = copying.source.sizes([tenant])[tenant]
        room = self._fleet.directory.cell(target)
        if room.room is not None and room.bytes + held > room.room:
            raise InvalidInput(
                f"Cell {target} has no room for the {held:,} bytes of tenant {tenant}.",
                hint="Choose another cell, or raise its limit: pgrecall cell add URL --number N --room SIZE.",
            )
        return MovePlan(tenant, source, target, memories, held, 3 + memories / MEMORIES_PER_SECOND)

    def move(self, tenant: str, target: int) -> Moved:
        """Moves a tenant, or continues its move. Its rows stay at the source until :meth:`finish`.

        Raises:
            InvalidInput, DatabaseUnsuitable, DatabaseUnavailable, SchemaMismatch: as for :meth:`plan`; or
                another call is moving the tenant.
            DatabaseError: the copy is stuck, differs, or writers could not be stopped for a moment.
        """
        with self._fleet.directory.exclusive(tenant):
            return self._move(tenant, target)

    def _move(self, tenant: str, target: int) -> Moved:
        began = time.monotonic()
        entry = self._entry(tenant)
        if entry is None or entry.step != "flipped":
            self.plan(tenant, target)
        source, copying = self._checked(tenant, target, entry)
        if entry is None:
            self._begin(tenant, source, target)
        stopped = 0.0
        if entry is None or entry.step == "begun":
            stopped = self._copy_and_flip(copying, source, target)
        copying.end()
        self._report(f"Tenant {tenant} lives in cell {target}.")
        return Moved(tenant, source, target, time.monotonic() - began, stopped)

    def undo(self, tenant: str) -> int:
        """Drops an unfinished copy, or moves a tenant back with its current memories; returns its cell.

        Raises:
            InvalidInput: there is nothing to undo.
        """
        with self._fleet.directory.exclusive(tenant):
            self._undo(tenant)
            return self._home(tenant).cell

    def _undo(self, tenant: str) -> None:
        entry = self._entry(tenant)
        if entry is None:
            raise InvalidInput(
                f"Tenant {tenant} lives in cell {self._home(tenant).cell}, and no move of it is left to "
                "undo: there was none, or it was undone or finished.",
                hint=f"To move it, name another cell: pgrecall tenant move {tenant} --to CELL.",
            )
        copying = self._copying(entry)
        if entry.step == "begun" and copying.target.residents().get(tenant) == ("here", None):
            self._take(copying, entry.target)  # killed during the flip; the tenant may have been used there
            entry = replace(entry, step="flipped")
        if entry.step == "flipped":
            self._report("It was used in its new cell, so it is moved back with its changes.")
            self._finish(tenant)
            self._move(tenant, entry.source)
            self._finish(tenant)
            return
        copying.end()
        copying.target.set_resident(tenant, "moving", entry.source)
        copying.source.set_resident(tenant, "here", None)
        copying.forget_at(copying.target)
        copying.target.run("DELETE FROM recall.resident WHERE tenant = %(tenant)s", {"tenant": tenant})
        self._fleet.directory.run(_DONE, {"tenant": tenant})

    def finish(self, tenant: str) -> int:
        """Deletes the rows at the source of a tenant that has moved; returns how many.

        Raises:
            InvalidInput: it has not moved.
        """
        with self._fleet.directory.exclusive(tenant):
            return self._finish(tenant)

    def _finish(self, tenant: str) -> int:
        entry = self._entry(tenant)
        if entry is None or entry.step != "flipped":
            cell = self._home(tenant).cell
            reason, hint = "", "pgrecall tenant list"
            if entry is not None:
                reason = f": its move to cell {entry.target} has not ended"
                hint = f"Continue it with --to {entry.target}, or --undo it."
            message = f"Tenant {tenant} lives in cell {cell}, and no rows of it wait to be deleted{reason}."
            raise InvalidInput(message, hint=hint)
        copying = self._copying(entry)
        copying.end()
        deleted = copying.forget_at(copying.source)
        self._fleet.directory.run(_DONE, {"tenant": tenant})
        return deleted

    def sweep(self, older_than: float) -> list[tuple[str, int]]:
        """Finishes every move that flipped at least so many seconds ago; returns tenants and deleted rows."""
        rows = self._fleet.directory.flipped(older_than)
        return [(tenant, self.finish(tenant)) for tenant in rows]

    def _entry(self, tenant: str) -> MoveEntry | None:
        return next((move for move in self._fleet.directory.moves() if move.tenant == tenant), None)

    def _home(self, tenant: str) -> Place:
        place = self._fleet.directory.find(tenant)
        if place is None:
            raise InvalidInput(f"No cell has a tenant {tenant}.", hint="`pgrecall tenant list` shows all.")
        return place

    def _copying(self, entry: MoveEntry) -> Copying:
        source, target = (self._fleet.directory.cell(number) for number in (entry.source, entry.target))
        return Copying(self._fleet.cell(source), self._fleet.cell(target), entry.tenant)

    def _checked(self, tenant: str, target: int, entry: MoveEntry | None) -> tuple[int, Copying]:
        """The cell that the tenant leaves, and its copy."""
        directory = self._fleet.directory
        place = self._home(tenant)
        wanted = directory.cell(target)
        if entry is not None:
            if entry.target != target:
                state = "still has rows in" if entry.step == "flipped" else "is moving from"
                raise InvalidInput(
                    f"Tenant {tenant} {state} cell {entry.source}, since its move to cell {entry.target}.",
                    hint=f"End that first: pgrecall tenant move {tenant} --undo, or --finish after a flip.",
                )
            return entry.source, self._copying(entry)
        if place.cell == target:
            raise InvalidInput(
                f"Tenant {tenant} lives in cell {target} already.", hint="See `pgrecall tenant list`."
            )
        source = directory.cell(place.cell)
        return place.cell, Copying(self._fleet.cell(source), self._fleet.cell(wanted), tenant)

    def _begin(self, tenant: str, source: int, target: int) -> None:
        values = {"tenant": tenant, "source": source, "target": target}
        if not self._fleet.directory.run(_BEGIN, values):
            raise InvalidInput(
                f"Tenant {tenant} is being moved by another process.", hint="Wait until it ends."
            )

    def _copy_and_flip(self, copying: Copying, source: int, target: int) -> float:
        """Copies and flips; returns the seconds for which writers were refused."""
        state = copying.source.residents().get(copying.tenant, ("here", None))[0]
        if state == "gone":  # the mover was killed during the flip
            self._take(copying, target)
            return 0.0
        if state == "moving":  # it was killed just before; writers need not wait for the copy
            copying.source.set_resident(copying.tenant, "here", None)
        self._report(f"Copying tenant {copying.tenant} from cell {source} to cell {target}.")
        copying.begin(source, timeout=COPY_TIMEOUT)
        copying.wait_for_copy(
            lambda done, tables: self._report(f"{done} of {tables} tables copied."), timeout=COPY_TIMEOUT
        )
        self._report("Building indexes.")
        copying.build_indexes()
        for attempt in range(1, ATTEMPTS + 1):
            copying.catch_up(timeout=COPY_TIMEOUT, to_the_end=False)
            self._report("Comparing.")
            try:
                with Comparison(copying, timeout=COPY_TIMEOUT, stop_timeout=STOP_TIMEOUT) as comparison:
                    return self._flip(copying, comparison, target)
            except DatabaseError as error:
                # A copy that differs is compared again from the beginning before the move is given up.
                again = isinstance(error, CopyDiffers) or error.sqlstate == "55P03"
                if not again or attempt == ATTEMPTS:
                    raise
                self._report(f"{error.message} Trying again.")
        raise AssertionError  # the last attempt returns or raises

    def _flip(self, copying: Copying, comparison: Comparison, target: int) -> float:
        """Stops the writers, compares the latest changes, and flips; returns the seconds of the stop."""
        source, tenant, released = copying.source, copying.tenant, False
        copying.hand_over()
        comparison.converge()
        try:
            with source.keep_open(), copying.target.keep_open(), self._fleet.directory.keep_open():
                began = time.monotonic()
                source.set_resident(tenant, "moving", None)
                self._compare(copying, comparison)
                source.set_resident(tenant, "gone", target)
                released = True
                self._take(copying, target)
                return time.monotonic() - began
        except BaseException:
            if not released:
                source.set_resident(tenant, "here", None)
            raise

    def _compare(self, copying: Copying, comparison: Comparison) -> None:
        """Waits until no transaction writes to the tenant, then compares both ends."""
        copying.source.wait_for_transactions(timeout=STOP_TIMEOUT, besides=comparison.sessions)
        if differing := comparison.differences():
            tenant, tables = copying.tenant, ", ".join(differing)
            raise CopyDiffers(
                f"The copy of tenant {tenant} differs in {tables}; it stays where it is.",
                hint=f"Start again: pgrecall tenant move {tenant} --undo.",
            )
        copying.hand_over()

    def _take(self, copying: Copying, target: int) -> None:
        """Admits the tenant, which no cell has now, to the target, and records it in the directory."""
        copying.target.set_resident(copying.tenant, "here", None)
        self._fleet.directory.flip(copying.tenant, target)


_BEGIN = (
    "INSERT INTO recall_cells.move (tenant, source, target) VALUES (%(tenant)s, %(source)s, %(target)s) "
    "ON CONFLICT DO NOTHING"
)
_DONE = "DELETE FROM recall_cells.move WHERE tenant = %(tenant)s"
