"""Groups of methods, such as ``memory.plans``: each imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from pgrecall.client._async.connection import AsyncConnection


class AsyncGroup:
    """A group of methods that share the connection of a client."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection


G = TypeVar("G", bound=AsyncGroup)


class _Client(Protocol):
    _connection: AsyncConnection


class GroupProperty(Generic[G]):
    """An attribute such as ``memory.plans``: the group for the tenant and session of that client.

    On the class, as in ``Memory.plans``, it is the class of the group, so that ``help`` and
    ``create_autospec`` find the methods. The module is imported on first use: most programs need few groups.
    """

    def __init__(self, noun: str, name: str) -> None:
        self._module = f"pgrecall.nouns.{noun}._async"
        self._name = name

    @overload
    def __get__(self, client: None, owner: type) -> type[G]: ...
    @overload
    def __get__(self, client: _Client, owner: type) -> G: ...
    def __get__(self, client: _Client | None, owner: type) -> type[G] | G:
        group: type[G] = getattr(import_module(self._module), self._name)
        return group if client is None else group(client._connection)
