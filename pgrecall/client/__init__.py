"""pgrecall from Python: thin drivers of operations and flows; they hold no SQL.

driver       the I/O: opening, closing, performing operations and flows
remembering  storing, importing, reading, forgetting, linking
using        accesses
searching    questions
composing    blocks of text for a prompt
pruning      prune plans
jobs         upkeep that runs by itself, and can be asked for
tuning       layers and settings
keeping      statistics, the link graph, pins, the past, status
memory       all of them as ``Memory``
"""

from pgrecall.arguments import DraftFields, LayerFields, SearchOptions
from pgrecall.client.memory import Memory

__all__ = ["DraftFields", "LayerFields", "Memory", "SearchOptions"]
