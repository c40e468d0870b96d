"""pgrecall: agent memory in your own Postgres, ranked by what matters now."""

from __future__ import annotations

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
from pgrecall.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from pgrecall.client._async.memory import AsyncMemory
    from pgrecall.client._sync.memory import Memory
    from pgrecall.models.access import Access
    from pgrecall.models.calibration import (
        Agreement,
        Calibration,
        JudgedQuery,
        Judgement,
        RelevanceModel,
        ReliabilityBin,
        RerankModel,
    )
    from pgrecall.models.charts import (
        AccessRecord,
        GraphLink,
        GraphNode,
        Neighbourhood,
        Overview,
        VitalityCounts,
        VitalityPoint,
        ZoneShare,
    )
    from pgrecall.models.context import ContextBlock, ContextRequest, ContextSource, LeftOut
    from pgrecall.models.export import Export
    from pgrecall.models.feedback import Feedback, JudgedHit, JudgedSearch, MemoryFeedback, RankFeedback
    from pgrecall.models.imports import ImportReport, Problem
    from pgrecall.models.jobs import JobOutcome, JobRun, JobStatus
    from pgrecall.models.layers import Languages, Layer, Setting
    from pgrecall.models.maintenance import Check, GraphReport, LayerStatus, Status
    from pgrecall.models.memories import Draft, DraftLink, Link, Remembered, StoredMemory, VitalityTerms
    from pgrecall.models.prune import PlanSummary, PruneOutcome, PrunePlan, PruneUndone
    from pgrecall.models.search import Hit, Reranked, SearchRequest, SearchResult
    from pgrecall.models.service import ApiKey, IssuedKey, KeyHolder
    from pgrecall.search.embed.embedder import Embedder
    from pgrecall.search.rerank.reranker import Reranker
    from pgrecall.settings import Settings

__version__ = "0.1.0"

__all__ = [
    "Access",
    "AccessRecord",
    "Agreement",
    "ApiKey",
    "AsyncMemory",
    "Calibration",
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
    "Export",
    "Feedback",
    "GraphLink",
    "GraphNode",
    "GraphReport",
    "Hit",
    "ImportReport",
    "InvalidInput",
    "IssuedKey",
    "JobOutcome",
    "JobRun",
    "JobStatus",
    "JudgedHit",
    "JudgedQuery",
    "JudgedSearch",
    "Judgement",
    "KeyHolder",
    "Languages",
    "Layer",
    "LayerStatus",
    "LeftOut",
    "Link",
    "Memory",
    "MemoryFeedback",
    "MemoryNotFound",
    "MissingExtra",
    "Neighbourhood",
    "Overview",
    "PlanSummary",
    "Problem",
    "PruneOutcome",
    "PrunePlan",
    "PruneUndone",
    "RankFeedback",
    "RecallError",
    "RelevanceModel",
    "ReliabilityBin",
    "Remembered",
    "RerankModel",
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
    "ZoneShare",
    "__version__",
]

# What draws in psycopg and pydantic, and sixty values, wait until they are named: importing stays quick.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "client._async.memory": ("AsyncMemory",),
            "client._sync.memory": ("Memory",),
            "models.access": ("Access",),
            "models.calibration": (
                "Agreement",
                "Calibration",
                "JudgedQuery",
                "Judgement",
                "RelevanceModel",
                "ReliabilityBin",
                "RerankModel",
            ),
            "models.charts": (
                "AccessRecord",
                "GraphLink",
                "GraphNode",
                "Neighbourhood",
                "Overview",
                "VitalityCounts",
                "VitalityPoint",
                "ZoneShare",
            ),
            "models.context": (
                "ContextBlock",
                "ContextRequest",
                "ContextSource",
                "LeftOut",
            ),
            "models.export": ("Export",),
            "models.feedback": (
                "Feedback",
                "JudgedHit",
                "JudgedSearch",
                "MemoryFeedback",
                "RankFeedback",
            ),
            "models.jobs": (
                "JobOutcome",
                "JobRun",
                "JobStatus",
            ),
            "models.service": (
                "ApiKey",
                "IssuedKey",
                "KeyHolder",
            ),
            "models.layers": (
                "Languages",
                "Layer",
                "Setting",
            ),
            "models.imports": ("ImportReport", "Problem"),
            "models.maintenance": (
                "Check",
                "GraphReport",
                "LayerStatus",
                "Status",
            ),
            "models.memories": (
                "Draft",
                "DraftLink",
                "Link",
                "Remembered",
                "StoredMemory",
                "VitalityTerms",
            ),
            "models.prune": (
                "PlanSummary",
                "PruneOutcome",
                "PrunePlan",
                "PruneUndone",
            ),
            "models.search": (
                "Hit",
                "Reranked",
                "SearchRequest",
                "SearchResult",
            ),
            "search.embed.embedder": ("Embedder",),
            "search.rerank.reranker": ("Reranker",),
            "settings": ("Settings",),
        },
    )
