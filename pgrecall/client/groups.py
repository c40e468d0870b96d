"""Groups of methods on a client, imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar, overload

G = TypeVar("G")


class _Client(Protocol):
    """What has a connection that its groups share."""

    _connection: Any


class GroupProperty(Generic[G]):
    """An attribute such as ``memory.prune``: the group of methods, for that client's tenant and session.

    On the class, as in ``Memory.prune``, it is the class of the group, so that ``help`` and
    ``create_autospec`` find the methods. Most programs use few groups: the module is imported late.
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
        return group if client is None else group(client._connection)  # type: ignore[call-arg]  # every group takes it
