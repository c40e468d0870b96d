"""``AsyncMemory``: the methods of ``Memory``, to be awaited. Their types stand in ``async_memory.pyi``."""

from __future__ import annotations

from pgrecall.client.async_driver import AsyncDriver
from pgrecall.client.memory import Capabilities


class AsyncMemory(Capabilities, AsyncDriver):
    """One tenant's memory for the tasks of an event loop: :class:`pgrecall.Memory` with ``await``.

    >>> async with AsyncMemory() as memory:                        # doctest: +SKIP
    ...     await memory.remember("Mira signs the harbour contract on Friday", layer="episodic")
    ...     for hit in (await memory.search("when is the contract signed?")).hits:
    ...         print(f"{hit.score:.2f}  {hit.body}")

    Nothing is opened before ``async with`` or ``await memory.open()``. What takes its time without Postgres
    (models, files that are imported, the link graph) is done in threads, and callbacks such as a token
    counter may be called there. A task that is cancelled has its statement cancelled in Postgres too, and
    its transaction leaves nothing behind. One belongs to the event loop it was opened in.

    Args:
        url: libpq connection string of the database.
        tenant: whose memories these are; transactions of this client see no others.
        settings: everything else; read from the environment when absent.
        embedder: replaces the one that ``settings`` describe.
        reranker: replaces the one that ``settings`` describe.
        timeout: seconds that one call may take in Postgres, then it is broken off there; None: those of
            ``settings``, and without them any.
    """
