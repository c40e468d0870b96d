"""A client that is open while its process forks; parent and child then use it at the same time.

    python fork_driver.py sync|async URL

Prints the server processes that served the parent before and after, the one that served the child, and how
many memories there are in the end, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from pgrecall import AsyncMemory, Memory
from pgrecall.nouns.operation import Operation
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings
from tests.waiting import PATIENCE

BACKEND: Operation[int] = Operation("SELECT pg_backend_pid() AS pid", {}, lambda rows: int(rows[0]["pid"]))
NOTES = 20


def told_by(child: int, reading: int) -> int:
    with os.fdopen(reading) as pipe:
        told = json.loads(pipe.read())
    assert os.waitpid(child, 0)[1] == 0
    return int(told)


def leave(writing: int, backend: int) -> None:
    with os.fdopen(writing, "w") as pipe:
        pipe.write(json.dumps(backend))


def sync(settings: Settings) -> None:
    with Memory(settings=settings, embedder=HashEmbedder(64)) as memory:
        memory.remember("before")
        before = memory._connection.execute(BACKEND)
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            for note in range(NOTES):
                memory.remember(f"child {note}")
            leave(writing, memory._connection.execute(BACKEND))
            memory.close()
            os._exit(0)
        os.close(writing)
        for note in range(NOTES):
            memory.remember(f"parent {note}")
        backend = told_by(child, reading)
        report(before, backend, memory._connection.execute(BACKEND), memory.status().memories)


def asynchronous(settings: Settings) -> None:
    memory = AsyncMemory(settings=settings, embedder=HashEmbedder(64))

    async def begun() -> int:
        await memory.open()
        await memory.remember("before")
        return await memory._connection.execute(BACKEND)

    async def noted(who: str) -> int:
        for note in range(NOTES):
            await memory.remember(f"{who} {note}")
        return await memory._connection.execute(BACKEND)

    async def ended(before: int, child: int, after: int) -> None:
        report(before, child, after, (await memory.status()).memories)
        await memory.close()

    async def inherited() -> int:
        backend = await noted("child")
        await memory.close()
        return backend

    with asyncio.Runner() as loop:
        before = loop.run(begun())
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            leave(writing, asyncio.Runner().run(inherited()))
            os._exit(0)
        os.close(writing)
        after = loop.run(noted("parent"))
        loop.run(ended(before, told_by(child, reading), after))


def report(before: int, child: int, after: int, memories: int) -> None:
    told = {"parent_before": before, "child": child, "parent_after": after, "memories": memories}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    colour, url = sys.argv[1:]
    # However long a busy machine takes to answer, no connection is given up for another.
    configured = Settings(database_url=url, embedder="none", pool_size=2, connect_timeout=PATIENCE)
    (sync if colour == "sync" else asynchronous)(configured)
