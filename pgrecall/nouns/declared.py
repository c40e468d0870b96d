"""``@declared``: how a method of the client is offered, from which HTTP, its command and TypeScript follow.

The rest of the declaration is the method itself: its docstring has the words, its types the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pgrecall.encoding import MAX_ID, MAX_INTEGER

Method = TypeVar("Method", bound=Callable[..., Any])

_KEY = "declarations"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lowest and highest value of a number; SQL enforces them too."""

    low: float
    high: float


Id = Annotated[int, Bounds(1, MAX_ID)]
Count = Annotated[int, Bounds(1, 1000)]
"""Rows of a list."""
Number = Annotated[int, Bounds(1, MAX_INTEGER)]
"""Of a version, or a place in a list."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One route of a method.

    Attributes:
        operation: its name in the OpenAPI document, which is that of its SQL function.
        verb: GET needs a key that may read, anything else one that may write.
        path: names the parameters that are part of it.
        tag: heading of the reference; by default the group of methods.
        in_query: parameters are in the query although the verb could have a body.
        repeatable: whether a client may repeat it after a lost answer.
        nothing: the sentence of its command if the result is empty, which is then exit code 1.
    """

    operation: str
    verb: str
    path: str
    tag: str | None
    in_query: bool
    repeatable: bool
    nothing: str | None = None


def declared(
    operation: str,
    route: str,
    *,
    tag: str | None = None,
    in_query: bool = False,
    repeatable: bool = False,
    nothing: str | None = None,
) -> Callable[[Method], Method]:
    """Declares a method; ``route`` is as in ``GET /v1/layers``, the rest as in :class:`Declaration`."""
    verb, _, path = route.partition(" ")
    declaration = Declaration(operation, verb, path, tag, in_query, repeatable or verb == "GET", nothing)

    def declare(method: Method) -> Method:
        vars(method)[_KEY] = (declaration, *declarations(method))
        return method

    return declare


def declarations(method: Callable[..., Any]) -> tuple[Declaration, ...]:
    """What is declared of a method, from top to bottom."""
    found: tuple[Declaration, ...] = vars(method).get(_KEY, ())
    return found
