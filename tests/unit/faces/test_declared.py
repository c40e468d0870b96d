"""What is declared of the client's methods, and how their docstrings are read for commands and routes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import click
import pytest

from pgrecall import AsyncMemory, Memory
from pgrecall.faces.cli.declared_commands import command, with_declared
from pgrecall.faces.described import REFERENCE, REQUIRED, described, imperative
from pgrecall.faces.http.declared_routes import declared_methods
from pgrecall.nouns.declared import Bounds, Count, Declaration, declarations, declared

DECLARED = list(declared_methods(AsyncMemory))


class AsyncShelfGroup:
    @declared("put_aside", "PUT /v1/shelf/{memory}")
    async def put(
        self,
        memory: int | str,
        *,
        places: Sequence[int] | None = None,
        limit: Annotated[int, Bounds(1, 9)] = 5,
    ) -> bool:
        """Puts a memory aside; see :class:`Shelf`.

        >>> await memory.shelf.put(3)

        It stays there.

        Args:
            memory: its id
                or key.
            places: only ``these``.
            limit: at most so many.

        Returns:
            Whether it was new.

        Raises:
            InvalidInput: it is too big.
        """
        raise NotImplementedError


class PlaceGroup:
    @declared("list_places", "GET /v1/places", nothing="No place is known.")
    def list(self, *, limit: Count = 5) -> tuple[str, ...]:
        """Lists places."""
        raise NotImplementedError

    @declared("free_places", "GET /v1/places/free")
    def free_ones(self) -> tuple[str, ...]:
        """Lists free places."""
        raise NotImplementedError

    def swept(self) -> None:
        """Is not declared."""


def test_what_is_declared_has_a_command_unless_one_was_made_by_hand() -> None:
    alone = with_declared({}, of=PlaceGroup)
    assert [(each, made.help) for each, made in alone.items()] == [
        ("list", "List places."), ("free-ones", "List free places."),
    ]  # fmt: skip
    assert [each.name for each in alone["list"].params] == ["limit", "as_json"]
    by_hand = command("all", PlaceGroup.list)
    other = click.Command("free-ones")
    assert with_declared({"all": by_hand, "free-ones": other}, of=PlaceGroup) == {
        "all": by_hand,
        "free-ones": other,
    }


def test_a_docstring_is_read_once_for_every_face() -> None:
    read = described(AsyncShelfGroup.put)
    assert (read.name, read.group, read.result, read.returns) == ("put", "shelf", bool, "Whether it was new.")
    assert read.about == "Put a memory aside; see `Shelf`.\n\nIt stays there."
    memory, places, limit = read.parameters
    assert (memory.type, memory.default, memory.about) == (REFERENCE, REQUIRED, "Its id or key.")
    assert (places.type, places.optional, places.about) == (Sequence[int], True, "Only `these`.")
    assert (limit.type, limit.bounds, limit.default) == (int, Bounds(1, 9), 5)
    [declaration] = declarations(AsyncShelfGroup.put)
    assert (declaration.verb, declaration.path) == ("PUT", "/v1/shelf/{memory}")
    assert not declaration.repeatable


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Lists all.", "List all."),
        ("Applies it", "Apply it"),
        ("Uses x", "Use x"),
        ("Undoes a plan", "Undo a plan"),
        ("Fetches a", "Fetch a"),
        ("Passes it", "Pass it"),
    ],
)
def test_help_is_in_the_imperative(said: str, asked: str) -> None:
    assert imperative(said) == asked


@pytest.mark.parametrize(("method", "declaration"), DECLARED, ids=lambda each: getattr(each, "operation", ""))
def test_every_declared_method_says_what_faces_need(
    method: Callable[..., Any], declaration: Declaration
) -> None:
    read = described(method)
    assert read.about
    assert read.returns
    assert [each.name for each in read.parameters if not each.about] == []
    assert [each.about for each in read.parameters if "None" in each.about] == []
    named = {each.name for each in read.parameters}
    assert set(re.findall(r"{(\w+)}", declaration.path)) <= named
    for client in (AsyncMemory, Memory):
        assert callable(read.bound(client))


def test_each_operation_is_declared_once() -> None:
    names = [declaration.operation for _, declaration in DECLARED]
    assert len(names) == len(set(names)) >= 7
