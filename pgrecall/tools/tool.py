"""A tool, and how to call one with a synchronous or an asynchronous client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ValidationError

from pgrecall import AsyncMemory, Memory
from pgrecall.errors import InvalidInput
from pgrecall.validation import what_it_must_be

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

A = TypeVar("A", bound=BaseModel)
R = TypeVar("R")
Out = TypeVar("Out", bound=BaseModel)

MAX_PROBLEMS = 20
"""Problems with the arguments of one call that the error lists."""

Client: TypeAlias = Memory | AsyncMemory
MaybeAwaitable: TypeAlias = R | Awaitable[R]
"""What a client's method returns: the value, or from an AsyncMemory an awaitable of it."""


@dataclass(frozen=True, slots=True)
class Tool(Generic[A, R, Out]):
    """Something that an agent can do.

    Attributes:
        description: tells the agent when to use the tool, what it returns and what to do next.
        arguments: model of the arguments.
        result: model of the result.
        request: makes the tool's one call of the client; times such as ``7d`` count back from its last
            argument.
        respond: builds the result from what the client returned.
        read_only: changes no memory, though a search logs the hits as shown.
        destructive: can replace or hide a memory.
        idempotent: a second call with the same arguments changes nothing.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    result: type[Out]
    request: Callable[[Client, A, datetime], MaybeAwaitable[R]]
    respond: Callable[[A, R], Out]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    def parse(self, arguments: Mapping[str, Any]) -> A:
        """Validates arguments.

        Raises:
            InvalidInput: with what is wrong, at most ``MAX_PROBLEMS`` of it.
        """
        try:
            return self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            found = error.errors(include_url=False)
            more = len(found) - MAX_PROBLEMS
            problems = "; ".join(_problem(item) for item in found[:MAX_PROBLEMS])
            problems += f"; and {more:,} more problems" if more > 0 else ""
            fields = self.arguments.model_fields
            names = ", ".join(sorted(fields, key=lambda name: not fields[name].is_required()))
            raise InvalidInput(
                f"{self.name}: {problems}.", hint=f"It takes: {names or 'no arguments'}."
            ) from error


def call(tool: Tool[A, R, Out], memory: Memory, arguments: Mapping[str, Any], now: datetime) -> Out:
    """Calls a tool with the arguments that a model wrote.

    Raises:
        RecallError: from the client; InvalidInput for invalid arguments.
    """
    parsed = tool.parse(arguments)
    return tool.respond(parsed, cast(R, tool.request(memory, parsed, now)))


async def call_async(
    tool: Tool[A, R, Out], memory: AsyncMemory, arguments: Mapping[str, Any], now: datetime
) -> Out:
    """Like :func:`call`, for an asynchronous client."""
    parsed = tool.parse(arguments)
    return tool.respond(parsed, await cast(Awaitable[R], tool.request(memory, parsed, now)))


def _problem(item: ErrorDetails) -> str:
    """The problem with one argument, as a clause that quotes its value."""
    name = ".".join(str(part) for part in item["loc"])
    if item["type"] == "missing":
        return f"{name} is missing"
    if item["type"] == "extra_forbidden":
        return f"there is no argument {name!r:.100}"
    value = repr(item["input"])
    value = f"{value[:60]}…" if len(value) > 60 else value
    if must := what_it_must_be(item):
        return f"{name} is {value} but {must}"
    message = item["msg"].removeprefix("Value error, ")
    return f"{name} is {value}: {message[:1].lower()}{message[1:]}"
