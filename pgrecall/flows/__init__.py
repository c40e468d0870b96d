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

from pgrecall.later import found_later

if TYPE_CHECKING:
    from pgrecall.flows import feedback
    from pgrecall.flows.base import Aside, Embed, Flow, LocalStep, Rerank, Step
    from pgrecall.flows.composing import context
    from pgrecall.flows.graph import refresh_graph
    from pgrecall.flows.imports import IMPORT_BATCH, import_batch, import_drafts
    from pgrecall.flows.keeping import fold
    from pgrecall.flows.prune import plan_prune, planned_prune, read_plan, undo_prune
    from pgrecall.flows.remembering import Stored, content_hash, remember, remember_many, remember_one
    from pgrecall.flows.searching import Abilities, search
    from pgrecall.flows.tools import Tools
    from pgrecall.flows.transfer import BrokenOff, Transfer, read_export, write_export

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
    __getattr__, __dir__ = found_later(
        __name__,
        {
            "base": ("Aside", "Embed", "Flow", "LocalStep", "Rerank", "Step"),
            "composing": ("context",),
            "graph": ("refresh_graph",),
            "imports": ("IMPORT_BATCH", "import_batch", "import_drafts"),
            "keeping": ("fold",),
            "prune": ("plan_prune", "planned_prune", "read_plan", "undo_prune"),
            "remembering": ("Stored", "content_hash", "remember", "remember_many", "remember_one"),
            "searching": ("Abilities", "search"),
            "tools": ("Tools",),
            "transfer": ("BrokenOff", "Transfer", "read_export", "write_export"),
        },
        ["feedback"],
    )
