"""What a type checker says of the client: `make check` reads this file, and nothing runs it.

In strict mode, mypy also complains of a comment that ignores nothing, so each mistake must stay one.
"""

from __future__ import annotations

from typing import assert_type

from pgrecall import AsyncMemory, Memory, PrunePlan, SearchResult, Setting, Status, StoredMemory


async def right() -> None:
    """Every result has the type that it has at run time."""
    async with AsyncMemory(tenant="acme", timeout=5) as memory:
        assert_type(memory, AsyncMemory)
        assert_type(await memory.search("harbour", k=3), SearchResult)
        assert_type(await memory.for_tenant("other").get("harbour"), StoredMemory)
        assert_type(await memory.plans.prune(max_share=0.1), PrunePlan)
        async with memory.session("chat-42") as session:
            assert_type(await session.record_access("harbour"), bool)
    with Memory() as blocking:
        assert_type(blocking.status(), Status)
        assert_type(blocking.settings.list(), tuple[Setting, ...])


async def wrong(memory: AsyncMemory, blocking: Memory) -> None:
    """Each mistake is found."""
    _ = memory.search("harbour").hits  # type: ignore[attr-defined]  # not awaited
    await memory.search("harbour", kk=3)  # type: ignore[call-arg]  # no such option
    await memory.get(1.5)  # type: ignore[arg-type]  # neither an id nor a key
    with memory:  # type: ignore[attr-defined]  # its context is asynchronous
        await blocking.status()  # type: ignore[misc]  # not awaitable
    _ = memory.plans.prune().report  # type: ignore[attr-defined]  # not awaited
    await memory.layers.sett("diary")  # type: ignore[attr-defined]  # no such method
