"""A tool, and the two ways to call one: at once, or awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ValidationError

from pgrecall import AsyncMemory, Memory
from pgrecall.errors import InvalidInput

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

A = TypeVar("A", bound=BaseModel)
R = TypeVar("R")
Out = TypeVar("Out", bound=BaseModel)

Client: TypeAlias = Memory | AsyncMemory
Maybe: TypeAlias = R | Awaitable[R]
"""What a client returns: its answer or, from the asynchronous one, what is to be awaited for it."""


@dataclass(frozen=True, slots=True)
class Tool(Generic[A, R, Out]):
    """One thing an agent can do.

    ``ask`` makes the one call of the client that the tool stands for, ``tell`` reads its answer. ``ask`` is
    given the moment too, from which times such as ``7d`` count back.

    Attributes:
        description: for the agent that reads it: when to use it, what comes back, what to do then.
        reads_only: it changes nothing that was remembered (what a search shows is logged all the same).
        destroys: it can replace or hide what was there.
        repeatable: called twice with the same arguments it does nothing more.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    result: type[Out]
    ask: Callable[[Client, A, datetime], Maybe[R]]
    tell: Callable[[A, R], Out]
    reads_only: bool = False
    destroys: bool = False
    repeatable: bool = False

    def parse(self, given: Mapping[str, Any]) -> A:
        """The arguments, checked.

        Raises:
            InvalidInput: they cannot be used; says of each what is wrong.
        """
        try:
            return self.arguments.model_validate(dict(given))
        except ValidationError as error:
            wrong = "; ".join(_problem(item) for item in error.errors(include_url=False))
            fields = self.arguments.model_fields
            takes = ", ".join(sorted(fields, key=lambda name: not fields[name].is_required()))
            raise InvalidInput(
                f"{self.name}: {wrong}.", hint=f"It takes: {takes or 'no arguments'}."
            ) from error


def call(tool: Tool[A, R, Out], memory: Memory, given: Mapping[str, Any], now: datetime) -> Out:
    """Calls a tool with arguments as a model wrote them.

    Raises:
        RecallError: what the client raises; InvalidInput for arguments that cannot be used.
    """
    arguments = tool.parse(given)
    return tool.tell(arguments, cast(R, tool.ask(memory, arguments, now)))


async def call_async(
    tool: Tool[A, R, Out], memory: AsyncMemory, given: Mapping[str, Any], now: datetime
) -> Out:
    """The same, awaited."""
    arguments = tool.parse(given)
    return tool.tell(arguments, await cast(Awaitable[R], tool.ask(memory, arguments, now)))


def _problem(item: ErrorDetails) -> str:
    """What is wrong with one argument, in a clause that names its value."""
    name = ".".join(str(part) for part in item["loc"])
    if item["type"] == "missing":
        return f"{name} is missing"
    if item["type"] == "extra_forbidden":
        return f"there is no argument {name!r:.100}"
    shown = repr(item["input"])
    shown = f"{shown[:60]}…" if len(shown) > 60 else shown
    said = item["msg"].removeprefix("Value error, ")
    return f"{name} is {shown}: {said[:1].lower()}{said[1:]}"
