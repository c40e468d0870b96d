"""What takes more than one step, as generators that ask for each step and do no I/O.

A flow yields a :class:`Step` and is sent what came of it; the client drives it. So one text serves
the synchronous and the asynchronous client.

base         the steps a flow may ask for
tools        how those are answered that need no Postgres
searching    a question and its answers
composing    a question and a block of text for a prompt
feedback     what verdicts add up to
remembering  drafts into memories
imports      what an importer reads
graph        what holds the links together
prune        planning what to archive
keeping      upkeep in several steps
transfer     a tenant whole, out to a file and in again
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from pgrecall.workflows import feedback
    from pgrecall.workflows.base import Aside, Embed, Flow, LocalStep, Rerank, Step
    from pgrecall.workflows.context import context
    from pgrecall.workflows.export import BrokenOff, Transfer, read_export, write_export
    from pgrecall.workflows.graph import refresh_graph
    from pgrecall.workflows.imports import IMPORT_BATCH, import_batch, import_drafts
    from pgrecall.workflows.maintenance import fold
    from pgrecall.workflows.memories import Stored, content_hash, remember, remember_many, remember_one
    from pgrecall.workflows.prune import plan_prune, planned_prune, read_plan, undo_prune
    from pgrecall.workflows.search import Abilities, search
    from pgrecall.workflows.tools import Tools

__all__ = [
    "IMPORT_BATCH",
    "Abilities",
    "Aside",
    "BrokenOff",
    "Embed",
    "Flow",
    "LocalStep",
    "Rerank",
    "Step",
    "Stored",
    "Tools",
    "Transfer",
    "content_hash",
    "context",
    "feedback",
    "fold",
    "import_batch",
    "import_drafts",
    "plan_prune",
    "planned_prune",
    "read_export",
    "read_plan",
    "refresh_graph",
    "remember",
    "remember_many",
    "remember_one",
    "search",
    "undo_prune",
    "write_export",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "base": ("Aside", "Embed", "Flow", "LocalStep", "Rerank", "Step"),
            "context": ("context",),
            "graph": ("refresh_graph",),
            "imports": ("IMPORT_BATCH", "import_batch", "import_drafts"),
            "maintenance": ("fold",),
            "prune": ("plan_prune", "planned_prune", "read_plan", "undo_prune"),
            "memories": ("Stored", "content_hash", "remember", "remember_many", "remember_one"),
            "search": ("Abilities", "search"),
            "tools": ("Tools",),
            "export": ("BrokenOff", "Transfer", "read_export", "write_export"),
        },
        ["feedback"],
    )
