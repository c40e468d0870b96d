"""What takes more than one step, as generators that ask for each step and do no I/O.

A flow yields :class:`Operation` or :class:`Embed` and is sent what came of it; the client drives
it. So one text serves the synchronous and the asynchronous client.

base         the steps a flow may ask for
searching    a question and its answers
composing    a question and a block of text for a prompt
remembering  drafts into memories
imports      what an importer reads
graph        what holds the links together
prune        planning what to archive
keeping      upkeep in several steps
"""

from pgrecall.flows.base import Embed, Flow, Step
from pgrecall.flows.graph import refresh_graph
from pgrecall.flows.imports import IMPORT_BATCH, import_batch, import_drafts
from pgrecall.flows.keeping import fold
from pgrecall.flows.prune import plan_prune, planned_prune, read_plan, undo_prune
from pgrecall.flows.remembering import Stored, content_hash, remember
from pgrecall.flows.searching import search

__all__ = [
    "IMPORT_BATCH",
    "Embed",
    "Flow",
    "Step",
    "Stored",
    "content_hash",
    "fold",
    "import_batch",
    "import_drafts",
    "plan_prune",
    "planned_prune",
    "read_plan",
    "refresh_graph",
    "remember",
    "search",
    "undo_prune",
]
