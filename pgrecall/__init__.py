"""pgrecall: agent memory in your own Postgres, ranked by what matters now."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pgrecall.errors import (
    DatabaseBusy,
    DatabaseError,
    DatabaseTimeout,
    DatabaseUnavailable,
    DatabaseUnsuitable,
    EmbedderError,
    EmbedderMismatch,
    InvalidInput,
    MemoryNotFound,
    MissingExtra,
    RecallError,
    RerankerError,
    SchemaMismatch,
)
from pgrecall.models import (
    Access,
    AccessRecord,
    Check,
    ContextBlock,
    ContextRequest,
    ContextSource,
    Draft,
    DraftLink,
    Feedback,
    GraphLink,
    GraphNode,
    GraphReport,
    Hit,
    ImportReport,
    JobOutcome,
    JobRun,
    JobStatus,
    JudgedHit,
    JudgedSearch,
    Layer,
    LayerStatus,
    LeftOut,
    Link,
    MemoryFeedback,
    Neighbourhood,
    PlanSummary,
    Problem,
    PruneOutcome,
    PrunePlan,
    PruneUndone,
    RankFeedback,
    Remembered,
    Reranked,
    SearchRequest,
    SearchResult,
    Setting,
    Status,
    StoredMemory,
    VitalityCounts,
    VitalityPoint,
    VitalityTerms,
)

if TYPE_CHECKING:
    from pgrecall.client import AsyncMemory, Memory
    from pgrecall.search.embedding import Embedder
    from pgrecall.search.reranking import Reranker
    from pgrecall.settings import Settings

__version__ = "0.1.0"

__all__ = [
    "Access",
    "AccessRecord",
    "AsyncMemory",
    "Check",
    "ContextBlock",
    "ContextRequest",
    "ContextSource",
    "DatabaseBusy",
    "DatabaseError",
    "DatabaseTimeout",
    "DatabaseUnavailable",
    "DatabaseUnsuitable",
    "Draft",
    "DraftLink",
    "Embedder",
    "EmbedderError",
    "EmbedderMismatch",
    "Feedback",
    "GraphLink",
    "GraphNode",
    "GraphReport",
    "Hit",
    "ImportReport",
    "InvalidInput",
    "JobOutcome",
    "JobRun",
    "JobStatus",
    "JudgedHit",
    "JudgedSearch",
    "Layer",
    "LayerStatus",
    "LeftOut",
    "Link",
    "Memory",
    "MemoryFeedback",
    "MemoryNotFound",
    "MissingExtra",
    "Neighbourhood",
    "PlanSummary",
    "Problem",
    "PruneOutcome",
    "PrunePlan",
    "PruneUndone",
    "RankFeedback",
    "RecallError",
    "Remembered",
    "Reranked",
    "Reranker",
    "RerankerError",
    "SchemaMismatch",
    "SearchRequest",
    "SearchResult",
    "Setting",
    "Settings",
    "Status",
    "StoredMemory",
    "VitalityCounts",
    "VitalityPoint",
    "VitalityTerms",
    "__version__",
]

# What draws in psycopg, SQLAlchemy and pydantic waits until it is named: `import pgrecall` stays quick.
_LATER = {
    "AsyncMemory": "pgrecall.client",
    "Memory": "pgrecall.client",
    "Embedder": "pgrecall.search.embedding",
    "Reranker": "pgrecall.search.reranking",
    "Settings": "pgrecall.settings",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'pgrecall' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
