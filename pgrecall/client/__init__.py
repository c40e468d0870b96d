"""pgrecall from Python: thin drivers of operations and flows; they hold no SQL.

driver        how operations and flows are performed, once for both colours
sync_driver   results
async_driver  what is to be awaited
ground        what a client and its views share
remembering   storing, importing, reading, forgetting, linking
using         accesses
searching     questions
composing     blocks of text for a prompt
feedback      what became of what was shown
pruning       prune plans
moving        a tenant whole, out and in
jobs          upkeep that runs by itself, and can be asked for
tuning        layers and settings
keeping       statistics, the link graph, pins, the past, status
serving       keys, and what a service tells of itself
memory        all of them as ``Memory``
async_memory  and as ``AsyncMemory``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from pgrecall.arguments import DraftFields, LayerFields, SearchOptions
    from pgrecall.client.async_memory import AsyncMemory
    from pgrecall.client.memory import Memory

__all__ = ["AsyncMemory", "DraftFields", "LayerFields", "Memory", "SearchOptions"]

if not TYPE_CHECKING:
    _FIELDS = ("DraftFields", "LayerFields", "SearchOptions")
    __getattr__, __dir__ = lazy_attributes(
        __name__, {"async_memory": ("AsyncMemory",), "memory": ("Memory",), ".arguments": _FIELDS}
    )
