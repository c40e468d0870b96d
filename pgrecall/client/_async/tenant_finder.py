"""Finding the cell of a tenant, and finding it again when its cell refuses it or does not answer."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from pgrecall.cells.directory import CellEntry, Place
from pgrecall.cells.routes import Routes
from pgrecall.client._async.databases import AsyncDatabases
from pgrecall.client.concurrency import async_run, async_sleep
from pgrecall.client.resources import Resources
from pgrecall.database.async_pool import AsyncDatabase
from pgrecall.database.error_translation import READ_ONLY
from pgrecall.errors import (
    DatabaseError,
    DatabaseTimeout,
    DatabaseUnavailable,
    DatabaseUnsuitable,
    InvalidInput,
    RecallError,
    SchemaMismatch,
    TenantElsewhere,
)
from pgrecall.nouns.operation import Operation
from pgrecall.nouns.service.models import (
    CellReport,
    CellsReport,
    Census,
    MoveReport,
    SchemaStamp,
    sum_censuses,
)
from pgrecall.nouns.service.operations import admit_tenant, census, schema_state

T = TypeVar("T")

MOVE_SECONDS = 5.0
"""Seconds for which a call waits for its tenant to arrive in another cell, which takes about one."""

RETRY_SECONDS = 0.05
"""Seconds between two attempts meanwhile, shortened at random."""


class AsyncTenantFinder:
    """The ways of a client with cells to the databases of tenants."""

    def __init__(self, routes: Routes, opened: AsyncDatabases, resources: Resources) -> None:
        self._routes = routes
        self._opened = opened
        self._resources = resources

    def known(self, tenant: str) -> Place | None:
        """Where a tenant lives, if that is known."""
        return self._routes.known(tenant)

    async def place(self, tenant: str) -> Place:
        """Where a tenant lives, as the directory says; as is known if it said so a moment ago."""
        place = self._routes.current(tenant)
        return await async_run(partial(self._routes.confirmed, tenant)) if place is None else place

    async def require_placed(self, tenant: str) -> None:
        """Raises InvalidInput for a tenant that lives in no cell: asking for it must not place it in one."""
        known = self._routes.current(tenant) or await async_run(partial(self._routes.look, tenant))
        if known is None:
            raise InvalidInput(f"No cell has a tenant {tenant}.", hint="Check the name.")

    async def database(self, tenant: str, *, even_if_down: bool = False) -> AsyncDatabase:
        """The database of a tenant; ``even_if_down``: also if its cell has just failed to answer."""
        place = await self.place(tenant)
        return await self._opened.at(place.cell, place.address, self._resources, even_if_down=even_if_down)

    def may_have_replica(self, tenant: str) -> bool:
        """Whether the tenant's cell has a standby, as far as is known."""
        place = self._routes.known(tenant)
        return place is None or self._routes.replica(place.cell) is not None

    async def replica_url(self, tenant: str) -> str | None:
        """The URL of a standby of the tenant's cell, if it has one."""
        address = self._routes.replica((await self.place(tenant)).cell)
        return None if address is None else self._resources.url_of_cell(address)

    def replica_failed(self, tenant: str) -> None:
        """Notes that the standby of the tenant's cell did not answer: it may have been removed."""
        if (place := self._routes.known(tenant)) is not None:
            self._routes.replica(place.cell, failed=True)

    def note_error(self, tenant: str, error: RecallError) -> RecallError:
        """The error of a call, with the cell's number where the cell does not answer, which is noted."""
        place = self.known(tenant)
        if place is None:
            return error
        if isinstance(error, SchemaMismatch):  # the cell may have been upgraded since it was looked at
            self._opened.outdated.add(place.address)
        return self._opened.outages.note_error(place.cell, place.address, error)

    def note_answer(self, tenant: str) -> None:
        """Notes that the cell of a tenant has answered."""
        if (place := self.known(tenant)) is not None:
            self._opened.outages.note_answer(place.address)

    async def should_retry(
        self, tenant: str, error: DatabaseError, operation: Operation[Any], since: float, asked: Place | None
    ) -> bool:
        """Whether a call is to be made again, since its error was due to where it was made.

        Args:
            since: when its first attempt failed, by the monotonic clock.
            asked: the place that was known before it was made.
        """
        if _may_be_elsewhere(error, operation) and time.monotonic() - since < MOVE_SECONDS:
            await self._find_again(tenant, error, asked)
            return True
        return isinstance(error, DatabaseUnavailable) and await self._has_moved(tenant, asked)

    async def ask_all(
        self, operation: Operation[T], tenant: str, name: object, tenant_of: Callable[[T], str] | None
    ) -> T:
        """Executes an operation in the cell that has an answer; the last one with ``name`` first.

        A cell may have been restored to an earlier time, or have another administrator. So an answer that
        names a tenant counts only from the cell in which the directory places that tenant, and all cells are
        asked the first time: of two that name different tenants, one claims what it has only been asked for.

        Args:
            tenant_of: the tenant that an answer names; None for answers that name none.

        Raises:
            DatabaseError: two cells name different tenants.
        """
        asked: dict[int, str] = {}
        failure: RecallError | None = None
        answer: T | None = None
        found: dict[str, tuple[int, T]] = {}
        first = self._opened.holders.get(name)
        while not found and (cells := await self._cells_not_asked(asked, first)):
            asked |= dict(cells)
            for cell, address in cells:
                try:
                    said = await self._ask(cell, address, operation, tenant)
                except DatabaseError as error:
                    failure = self._opened.outages.note_error(cell, address, error)
                    continue
                self._opened.outages.note_answer(address)
                if not said:
                    answer = said
                elif tenant_of is None:
                    return said
                elif await self._is_home(named := tenant_of(said), address, len(asked)):
                    if address == first:
                        return said
                    found.setdefault(named, (cell, said))
        if found:
            cell, said = _only(found)
            self._opened.remember_holder(name, asked[cell])
            return said
        if failure is not None or not asked:
            raise failure or InvalidInput("There is no cell yet.", hint="Add one: pgrecall cell add URL.")
        return answer  # type: ignore[return-value]  # some cell has answered, with nothing

    async def _cells_not_asked(self, asked: dict[int, str], first: str | None) -> list[tuple[int, str]]:
        """The cells at first, then those that were added or replaced since they were read."""
        known = await async_run(partial(self._routes.known_cells, newest=bool(asked)))
        left = [(cell, address) for cell, address in known.items() if asked.get(cell) != address]
        return sorted(left, key=lambda cell: cell[1] != first)

    async def _ask(self, cell: int, address: str, operation: Operation[T], tenant: str) -> T:
        """The answer of a cell.

        Raises:
            DatabaseError: it does not answer, not in time, or not as it should: others may have the answer.
        """
        database = await self._opened.at(cell, address, self._resources)
        seconds = self._resources.settings.connect_timeout
        try:
            return operation.read(await database.fetch(operation, tenant=tenant, within=seconds))
        except DatabaseTimeout as error:
            raise DatabaseUnavailable(error.message, hint=error.hint) from error
        except InvalidInput as error:  # nothing that the caller gave
            raise DatabaseError(f"Cell {cell} refused a question: {error.message}") from error

    async def _is_home(self, tenant: str, address: str, cells: int) -> bool:
        """Whether the directory places a tenant in the cell at this address, or did while it answered.

        Raises:
            DatabaseUnavailable: the directory would have to be asked, and does not answer.
        """
        current = self._routes.current(tenant)
        if current is not None and current.address == address:
            return True
        try:
            place = await async_run(partial(self._routes.look, tenant))
        except DatabaseUnavailable:
            if (before := self._routes.known(tenant)) is None or before.address != address:
                raise
            return True
        if place is not None and place.address != address:
            # It may be just moving: a cell admits its new tenant before the directory names it.
            await async_sleep(RETRY_SECONDS)
            place = await async_run(partial(self._routes.look, tenant))
        # Tenants of the only cell may have begun without the directory, and are placed when they are used.
        return cells == 1 if place is None else place.address == address

    async def cells(self, tenant: str) -> CellsReport:
        """Every cell, whether it answers, and what is in motion between them."""
        entries, moves = await async_run(self._routes.overview)
        answers = await self._ask_each(schema_state(), tenant, entries)
        return CellsReport(
            tuple(_report(entry, answer) for entry, answer in zip(entries, answers, strict=True)),
            tuple(MoveReport(one.tenant, one.source, one.target, one.step, one.began_at) for one in moves),
        )

    async def census(self, tenant: str) -> Census:
        """The figures of all cells that answer."""
        entries, _ = await async_run(self._routes.overview)
        answers = await self._ask_each(census(), tenant, entries)
        counted = [answer for answer in answers if not isinstance(answer, DatabaseError)]
        return sum_censuses(counted, await self.cells(tenant))

    async def _ask_each(
        self, operation: Operation[T], tenant: str, entries: Sequence[CellEntry]
    ) -> list[T | DatabaseError]:
        """The answer of each cell, or the error of one that does not answer or is of another version."""
        answers: list[T | DatabaseError] = []
        for entry in entries:
            try:
                database = await self._opened.at(entry.number, entry.address, self._resources)
                answers.append(operation.read(await database.fetch(operation, tenant=tenant)))
            except DatabaseError as error:
                noted = self._opened.outages.note_error(entry.number, entry.address, error)
                answers.append(noted if isinstance(noted, DatabaseError) else error)
        return answers

    async def _look_up(self, tenant: str) -> Place:
        return await async_run(partial(self._routes.find, tenant))

    async def _has_moved(self, tenant: str, before: Place | None) -> bool:
        """Whether the tenant of a cell that does not answer has a place in another one by now."""
        if before is None:
            return False
        try:
            place = await self._look_up(tenant)
        except DatabaseError:
            return False  # the cell's own error says more
        return (place.cell, place.address) != (before.cell, before.address)

    async def _find_again(self, tenant: str, error: DatabaseError, before: Place | None) -> None:
        """Looks a refused tenant up again. Where it stays in its cell it is new there, or on its way."""
        if isinstance(error, TenantElsewhere):
            place = await self._look_up(tenant)
            if before is not None and place.version != before.version:
                return
            database = await self._opened.at(place.cell, place.address, self._resources)
            try:
                await database.fetch(admit_tenant(), tenant=tenant)
            except (TenantElsewhere, DatabaseUnsuitable):
                pass  # it is just moving, and cell and directory agree in a moment; or others admit tenants
            else:
                return
        await async_sleep(random.uniform(RETRY_SECONDS / 2, RETRY_SECONDS))


def _only(found: Mapping[str, tuple[int, T]]) -> tuple[int, T]:
    """The one tenant's cell and answer.

    Raises:
        DatabaseError: there are several tenants.
    """
    if len(found) > 1:
        cells = ", ".join(str(cell) for cell, _ in found.values())
        raise DatabaseError(
            f"Cells {cells} know this key or session for different tenants, so it opens none.",
            hint="`pgrecall cell check` names the tenants. Revoke the key in each, and create another.",
        )
    return next(iter(found.values()))


def _report(entry: CellEntry, answer: SchemaStamp | DatabaseError) -> CellReport:
    revision, problem = (None, answer.message) if isinstance(answer, DatabaseError) else (answer.revision, "")
    return CellReport(
        entry.number,
        entry.tenants,
        entry.bytes,
        entry.draining,
        entry.replica is not None,
        revision,
        problem,
    )


def _may_be_elsewhere(error: DatabaseError, operation: Operation[Any]) -> bool:
    """Whether the tenant may be found elsewhere, or here in a moment. What may be lost does not wait."""
    return isinstance(error, TenantElsewhere) or (error.sqlstate == READ_ONLY and operation.durable)
