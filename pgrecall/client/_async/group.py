"""Groups of methods, such as ``memory.prune``: each imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Generic, Protocol, TypeVar, overload

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.operations.operation import Operation

P = TypeVar("P")


class AsyncGroup:
    """A group of methods that share the connection of a client."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def _read_pages(
        self,
        read: Callable[[int, int], Operation[P]],
        count: Callable[[P], int],
        *,
        size: int,
        limit: int | None,
        offset: int,
    ) -> list[P]:
        """Reads a plan as pages of at most ``size`` of its parts, of which each page is a plan.

        Args:
            read: the operation for an offset and a limit.
            count: returns the number of all parts.
            limit: maximum number of parts; None for all.
            offset: number of parts to skip.
        """
        first = await self._connection.execute(read(offset, size if limit is None else min(size, limit)))
        left = count(first) - offset
        wanted = left if limit is None else min(left, limit)
        return [first] + [
            await self._connection.execute(read(offset + done, min(size, wanted - done)))
            for done in range(size, wanted, size)
        ]


G = TypeVar("G", bound=AsyncGroup)


class _Client(Protocol):
    _connection: AsyncConnection


class GroupProperty(Generic[G]):
    """An attribute such as ``memory.prune``: the group for the tenant and session of that client.

    On the class, as in ``Memory.prune``, it is the class of the group, so that ``help`` and
    ``create_autospec`` find the methods. The module is imported on first use: most programs need few groups.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._package = owner.__module__.rpartition(".")[0]

    @overload
    def __get__(self, client: None, owner: type) -> type[G]: ...
    @overload
    def __get__(self, client: _Client, owner: type) -> G: ...
    def __get__(self, client: _Client | None, owner: type) -> type[G] | G:
        group: type[G] = getattr(import_module(f"{self._package}.{self._module}"), self._name)
        return group if client is None else group(client._connection)
