"""The reads of one search, which a replica may answer."""

from __future__ import annotations

from typing import TypeVar

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.client._async.replica import NoReplica
from pgrecall.nouns.operation import Operation

T = TypeVar("T")


class AsyncSearchReads:
    """The reads of one search: by a replica until it cannot answer one, from then on by the primary.

    Args:
        by_replica: False has the primary answer all.

    ``staleness`` is that of the last answer, None by the primary; ``notice`` says why a replica did not
    answer.
    """

    def __init__(self, connection: AsyncConnection, *, by_replica: bool = True) -> None:
        self._connection = connection
        self._from_primary = not (by_replica and connection.has_replicas)
        self.staleness: float | None = None
        self.notice = ""

    @property
    def asks_replica(self) -> bool:
        """Whether a replica would be asked next."""
        return not self._from_primary

    async def execute(self, operation: Operation[T]) -> T:
        """Executes an operation that changes nothing."""
        if not self._from_primary:
            try:
                if (replica := await self._connection.replica()) is not None:
                    primary = await self._connection.tenant_database(even_if_down=True)
                    answer, self.staleness = await replica.answer(operation, self._connection.tenant, primary)
                    return answer
            except NoReplica as none:
                self.notice = none.reason
                if none.reason and self._connection.finder is not None:
                    self._connection.finder.replica_failed(self._connection.tenant)
            self._from_primary, self.staleness = True, None
        return await self._connection.execute(operation)
