"""What takes more than one step, as generators that ask for each step and do no I/O.

A flow yields :class:`Operation` or :class:`Embed` and is sent what came of it; the client drives
it. So one text serves the synchronous and the asynchronous client.

base         the steps a flow may ask for
searching    a question and its answers
remembering  drafts into memories
imports      what an importer reads
graph        what holds the links together
"""

from pgrecall.flows.base import Embed, Flow, Step
from pgrecall.flows.graph import refresh_graph
from pgrecall.flows.imports import IMPORT_BATCH, import_batch, import_drafts
from pgrecall.flows.remembering import Stored, content_hash, remember
from pgrecall.flows.searching import search

__all__ = [
    "IMPORT_BATCH",
    "Embed",
    "Flow",
    "Step",
    "Stored",
    "content_hash",
    "import_batch",
    "import_drafts",
    "refresh_graph",
    "remember",
    "search",
]
