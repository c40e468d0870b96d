"""A replica: a standby that answers searches as long as it is recent enough."""

from __future__ import annotations

from typing import TypeVar

from pgrecall.client.freshness import Freshness, Mark
from pgrecall.client.resources import Resources
from pgrecall.database.async_pool import AsyncDatabase
from pgrecall.database.log_positions import Server
from pgrecall.errors import DatabaseError, DatabaseUnavailable, InvalidInput, TenantElsewhere
from pgrecall.nouns.operation import Operation
from pgrecall.nouns.service.operations import primary_position, replica_position
from pgrecall.nouns.status.models import ReplicaStatus

T = TypeVar("T")

CONNECT_TIMEOUT = 2.0
"""Maximum seconds to wait for a connection to a replica; the primary can answer instead."""


class NoReplica(Exception):
    """A replica does not answer this; ``reason`` says why, and is empty where that is as it should be."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class AsyncReplica:
    """The standby of one database.

    A client finds its own writes: it asks the primary for the position of its log, and then the standby
    whether it has replayed that. The standby repeats its position with each answer, because its address may
    lead to several servers.
    """

    def __init__(self, url: str, resources: Resources, freshness: Freshness) -> None:
        limits = resources.limits()
        limits["connect_timeout"] = min(limits["connect_timeout"], CONNECT_TIMEOUT)
        self.freshness = freshness
        self._database = AsyncDatabase(url, **limits)
        self._wait = resources.settings.connect_timeout
        self._primary: Server | None = None
        self._seen = -1
        self._failure = ""

    async def close(self) -> None:
        """Closes its connections."""
        await self._database.close()

    async def answer(
        self, operation: Operation[T], tenant: str, primary: AsyncDatabase
    ) -> tuple[T, float | None]:
        """Answers an operation that changes nothing, and says how many seconds the answer may lack at most.

        Raises:
            NoReplica: it lags too much, lacks what this client wrote, or fails.
        """
        if self.freshness.is_paused("replica"):
            raise NoReplica(self._failure)
        await self._update_primary(tenant, primary)
        required = self.freshness.required_position(tenant)
        if required is None:
            raise NoReplica(_NOBODY_KNOWS)
        try:
            if self._seen < required:
                self._require(await self._standby(tenant), required)
            standby, rows = await self._database.fetch_replayed(operation, tenant=tenant)
            replayed = self._require(standby, required)
        except (InvalidInput, TenantElsewhere):
            raise NoReplica from None  # what it names may be newer than the replica is; the primary knows
        except DatabaseError as error:
            raise self._failed(error.message) from error
        return operation.read(rows), self.freshness.staleness(replayed)

    async def status(self, tenant: str, primary: AsyncDatabase) -> ReplicaStatus:
        """How far it lags now, as a client of this tenant sees it."""
        try:
            await self._update_primary(tenant, primary, always=True)
            replayed = self._position(await self._standby(tenant))
        except NoReplica as none:
            return ReplicaStatus(self.freshness.limit, problem=none.reason)
        except DatabaseError as error:
            return ReplicaStatus(self.freshness.limit, problem=f"replica: {error.message}")
        if self._primary is None or self._primary.position is None:
            return ReplicaStatus(self.freshness.limit, problem=_NO_STANDBY)
        late = f"replica: it lags more than {self.freshness.limit:g} s"
        behind = max(self._primary.position - replayed, 0)
        problem = late if self.freshness.is_late(replayed) else ""
        return ReplicaStatus(self.freshness.limit, behind, self.freshness.staleness(replayed), problem)

    def primary_answers(self) -> bool:
        """Whether the primary answers, as far as is known: it is asked to log what this replica found."""
        return not self.freshness.is_paused("primary")

    def primary_failed(self) -> None:
        """Stops asking the primary for a while, because each attempt could take as long as connecting."""
        self.freshness.pause("primary", 3 * self._wait)

    async def _update_primary(self, tenant: str, primary: AsyncDatabase, *, always: bool = False) -> None:
        """Notes how far the primary is, if that was not asked lately. While it is down older marks count."""
        if not always and (not self.freshness.needs_mark(tenant) or self.freshness.is_paused("primary")):
            return
        asked = self.freshness.now()
        operation = primary_position()
        try:
            found = operation.read(await primary.fetch(operation, tenant=tenant))
        except DatabaseUnavailable:
            self.primary_failed()
            return
        except TenantElsewhere:
            raise NoReplica from None  # the primary repeats it, and the tenant is looked up again
        except DatabaseError as error:
            raise self._failed(error.message) from error
        if self._primary is not None and not found.has_log_of(self._primary):
            self._seen = -1
            self.freshness.forget_marks()  # they are positions of another log
        self._primary = found
        if found.position is not None:
            self.freshness.add(Mark(asked, found.position))

    async def _standby(self, tenant: str) -> Server:
        """How far the standby has replayed the log of its primary."""
        operation = replica_position()
        return operation.read(await self._database.fetch(operation, tenant=tenant))

    def _position(self, standby: Server) -> int:
        """How far a standby of this primary has replayed. Raises NoReplica if it is another server."""
        if standby.position is None:
            raise self._failed(_NO_STANDBY)
        if self._primary is not None and not standby.has_log_of(self._primary):
            same = standby.is_same_database(self._primary)
            raise self._failed(_OTHER_LOG if same else "it is not a standby of this database")
        return standby.position

    def _require(self, standby: Server, required: int) -> int:
        """The position of a standby that has replayed what is required. Raises NoReplica for another."""
        self._seen = replayed = self._position(standby)
        if replayed < required:
            late = f"replica: it lags more than {self.freshness.limit:g} s, so the primary answered"
            raise NoReplica(late if self.freshness.is_late(replayed) else "")
        return replayed

    def _failed(self, message: str) -> NoReplica:
        self.freshness.pause("replica")
        self._failure = (
            f"replica: the primary answered: {message.removeprefix('replica: ').removesuffix('.')}"
        )
        return NoReplica(self._failure)


_NOBODY_KNOWS = "replica: the position of the primary is unknown, so the lag is unknown"
_NO_STANDBY = "replica: its server is not a standby"
_OTHER_LOG = "it follows another primary, or has not caught up since the last promotion"
