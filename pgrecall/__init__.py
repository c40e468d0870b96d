"""pgrecall: agent memory in your own Postgres, ranked by what matters now."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pgrecall.errors import (
    AlertError,
    CellUnavailable,
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
    TenantElsewhere,
)
from pgrecall.version import __version__

if TYPE_CHECKING:
    from pgrecall.client._async.memory import AsyncMemory
    from pgrecall.client._sync.memory import Memory
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
    from pgrecall.models.dedupe import DedupePlan
    from pgrecall.models.erasure import Erasure, ErasureReport, ErasureSummary, Subject
    from pgrecall.models.feedback import Feedback, JudgedHit, JudgedSearch, MemoryFeedback, RankFeedback
    from pgrecall.models.import_export import Export, ImportReport, Problem
    from pgrecall.models.imports import ImportSummary, ImportUndone, KeptMemory
    from pgrecall.models.layers import Languages, Layer, Setting
    from pgrecall.models.maintenance import (
        Check,
        GraphReport,
        JobOutcome,
        JobRun,
        JobStatus,
        LayerStatus,
        Status,
    )
    from pgrecall.models.memories import (
        Access,
        AccessCounts,
        Draft,
        DraftLink,
        Link,
        ListedMemory,
        Remembered,
        StoredMemory,
        VitalityTerms,
    )
    from pgrecall.models.plans import PlanOutcome, PlanSummary, PlanUndone
    from pgrecall.models.prune import PrunePlan
    from pgrecall.models.quality import (
        ArmUse,
        Experiment,
        ExperimentArm,
        ExperimentDifference,
        Miss,
        Quality,
        RankUse,
        Replay,
        ReplayedSearch,
        Share,
        UnansweredQuery,
    )
    from pgrecall.models.search import Hit, Reranked, SearchRequest, SearchResult
    from pgrecall.models.service import ApiKey, IssuedKey, KeyHolder
    from pgrecall.models.versions import Change, FieldDifference, Version, Words
    from pgrecall.search.embed.embedder import Embedder
    from pgrecall.search.rerank.reranker import Reranker
    from pgrecall.settings import Settings

__all__ = [
    "Access",
    "AccessCounts",
    "AccessRecord",
    "Agreement",
    "AlertError",
    "ApiKey",
    "ArmUse",
    "AsyncMemory",
    "Calibration",
    "CellUnavailable",
    "Change",
    "Check",
    "ContextBlock",
    "ContextRequest",
    "ContextSource",
    "DatabaseBusy",
    "DatabaseError",
    "DatabaseTimeout",
    "DatabaseUnavailable",
    "DatabaseUnsuitable",
    "DedupePlan",
    "Draft",
    "DraftLink",
    "Embedder",
    "EmbedderError",
    "EmbedderMismatch",
    "Erasure",
    "ErasureReport",
    "ErasureSummary",
    "Experiment",
    "ExperimentArm",
    "ExperimentDifference",
    "Export",
    "Feedback",
    "FieldDifference",
    "GraphLink",
    "GraphNode",
    "GraphReport",
    "Hit",
    "ImportReport",
    "ImportSummary",
    "ImportUndone",
    "InvalidInput",
    "IssuedKey",
    "JobOutcome",
    "JobRun",
    "JobStatus",
    "JudgedHit",
    "JudgedQuery",
    "JudgedSearch",
    "Judgement",
    "KeptMemory",
    "KeyHolder",
    "Languages",
    "Layer",
    "LayerStatus",
    "LeftOut",
    "Link",
    "ListedMemory",
    "Memory",
    "MemoryFeedback",
    "MemoryNotFound",
    "Miss",
    "MissingExtra",
    "Neighbourhood",
    "Overview",
    "PlanOutcome",
    "PlanSummary",
    "PlanUndone",
    "Problem",
    "PrunePlan",
    "Quality",
    "RankFeedback",
    "RankUse",
    "RecallError",
    "RelevanceModel",
    "ReliabilityBin",
    "Remembered",
    "Replay",
    "ReplayedSearch",
    "RerankModel",
    "Reranked",
    "Reranker",
    "RerankerError",
    "SchemaMismatch",
    "SearchRequest",
    "SearchResult",
    "Setting",
    "Settings",
    "Share",
    "Status",
    "StoredMemory",
    "Subject",
    "TenantElsewhere",
    "UnansweredQuery",
    "Version",
    "VitalityCounts",
    "VitalityPoint",
    "VitalityTerms",
    "Words",
    "ZoneShare",
    "__version__",
]

# Values that need psycopg or pydantic are imported when they are first used: importing pgrecall is quick.
_MODULES = {
    "client._async.memory": ("AsyncMemory",),
    "client._sync.memory": ("Memory",),
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
    "models.context": ("ContextBlock", "ContextRequest", "ContextSource", "LeftOut"),
    "models.feedback": ("Feedback", "JudgedHit", "JudgedSearch", "MemoryFeedback", "RankFeedback"),
    "models.import_export": ("Export", "ImportReport", "Problem"),
    "models.layers": ("Languages", "Layer", "Setting"),
    "models.maintenance": (
        "Check",
        "GraphReport",
        "JobOutcome",
        "JobRun",
        "JobStatus",
        "LayerStatus",
        "Status",
    ),
    "models.memories": (
        "Access",
        "AccessCounts",
        "Draft",
        "DraftLink",
        "Link",
        "ListedMemory",
        "Remembered",
        "StoredMemory",
        "VitalityTerms",
    ),
    "models.dedupe": ("DedupePlan",),
    "models.erasure": ("Erasure", "ErasureReport", "ErasureSummary", "Subject"),
    "models.imports": ("ImportSummary", "ImportUndone", "KeptMemory"),
    "models.plans": ("PlanOutcome", "PlanSummary", "PlanUndone"),
    "models.prune": ("PrunePlan",),
    "models.quality": (
        "ArmUse",
        "Experiment",
        "ExperimentArm",
        "ExperimentDifference",
        "Miss",
        "Quality",
        "RankUse",
        "Replay",
        "ReplayedSearch",
        "Share",
        "UnansweredQuery",
    ),
    "models.search": ("Hit", "Reranked", "SearchRequest", "SearchResult"),
    "models.service": ("ApiKey", "IssuedKey", "KeyHolder"),
    "search.embed.embedder": ("Embedder",),
    "search.rerank.reranker": ("Reranker",),
    "settings": ("Settings",),
    "models.versions": ("Change", "FieldDifference", "Version", "Words"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"pgrecall.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULE_OF})
