"""Parameters that many routes share: whose memory it is, and which memory of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path
from starlette.requests import Request

from pgrecall import AsyncMemory
from pgrecall.faces.cli.values import parse_reference


# Both are coroutines although they wait for nothing: functions would be run in threads.
async def _memory_of(request: Request) -> AsyncMemory:
    memory: AsyncMemory = request.state.memory
    return memory


async def _reference(
    memory: Annotated[
        str, Path(description="Digits are an id, anything else is a key; `key:42` is the key 42.")
    ],
) -> int | str:
    return parse_reference(memory)


Mine = Annotated[AsyncMemory, Depends(_memory_of)]
"""The memory of whoever asks."""

Named = Annotated[int | str, Depends(_reference)]
"""A memory in a path. It comes last there, so that keys may hold slashes."""
