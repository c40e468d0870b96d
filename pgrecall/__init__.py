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
    LanguageModelError,
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
    from pgrecall.nouns.calibration.models import (
        Agreement,
        Calibration,
        JudgedQuery,
        Judgement,
        RelevanceModel,
        ReliabilityBin,
        RerankModel,
    )
    from pgrecall.nouns.charts.models import (
        AccessRecord,
        GraphLink,
        GraphNode,
        Neighbourhood,
        Overview,
        VitalityCounts,
        VitalityPoint,
        ZoneShare,
    )
    from pgrecall.nouns.context.models import ContextBlock, ContextRequest, ContextSource, LeftOut
    from pgrecall.nouns.erasure.models import Erasure, ErasureReport, ErasureSummary, Subject
    from pgrecall.nouns.export.models import Export
    from pgrecall.nouns.feedback.models import Feedback, JudgedHit, JudgedSearch, MemoryFeedback, RankFeedback
    from pgrecall.nouns.history.models import Change, DiffRun, FieldDifference, Version
    from pgrecall.nouns.imports.models import (
        ImportSummary,
        ImportUndone,
        KeptMemory,
        KeysRenamed,
        UnusedImport,
    )
    from pgrecall.nouns.imports.report import ImportReport, Problem
    from pgrecall.nouns.jobs.models import JobOutcome, JobRun, JobStatus
    from pgrecall.nouns.keys.models import ApiKey, Grant, IssuedKey, KeyHolder, OpenGrant
    from pgrecall.nouns.layers.models import Layer
    from pgrecall.nouns.links.models import StaleSummary
    from pgrecall.nouns.maintenance.models import Check, GraphReport
    from pgrecall.nouns.memories.models import (
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
    from pgrecall.nouns.plans.dedupe import DedupePlan
    from pgrecall.nouns.plans.models import PlanOutcome, PlanSummary, PlanUndone
    from pgrecall.nouns.plans.prune import PrunePlan
    from pgrecall.nouns.plans.redact import RedactPlan
    from pgrecall.nouns.quality.models import (
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
    from pgrecall.nouns.readers.models import Reader, Shared
    from pgrecall.nouns.search.models import Hit, Reranked, SearchRequest, SearchResult
    from pgrecall.nouns.settings.models import Languages, Setting
    from pgrecall.nouns.status.models import LayerStatus, Status
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
    "DiffRun",
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
    "Grant",
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
    "KeysRenamed",
    "LanguageModelError",
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
    "OpenGrant",
    "Overview",
    "PlanOutcome",
    "PlanSummary",
    "PlanUndone",
    "Problem",
    "PrunePlan",
    "Quality",
    "RankFeedback",
    "RankUse",
    "Reader",
    "RecallError",
    "RedactPlan",
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
    "Shared",
    "StaleSummary",
    "Status",
    "StoredMemory",
    "Subject",
    "TenantElsewhere",
    "UnansweredQuery",
    "UnusedImport",
    "Version",
    "VitalityCounts",
    "VitalityPoint",
    "VitalityTerms",
    "ZoneShare",
    "__version__",
]

# Values that need psycopg or pydantic are imported when they are first used: importing pgrecall is quick.
_MODULES = {
    "client._async.memory": ("AsyncMemory",),
    "client._sync.memory": ("Memory",),
    "nouns.calibration.models": (
        "Agreement",
        "Calibration",
        "JudgedQuery",
        "Judgement",
        "RelevanceModel",
        "ReliabilityBin",
        "RerankModel",
    ),
    "nouns.charts.models": (
        "AccessRecord",
        "GraphLink",
        "GraphNode",
        "Neighbourhood",
        "Overview",
        "VitalityCounts",
        "VitalityPoint",
        "ZoneShare",
    ),
    "nouns.context.models": ("ContextBlock", "ContextRequest", "ContextSource", "LeftOut"),
    "nouns.erasure.models": ("Erasure", "ErasureReport", "ErasureSummary", "Subject"),
    "nouns.export.models": ("Export",),
    "nouns.feedback.models": ("Feedback", "JudgedHit", "JudgedSearch", "MemoryFeedback", "RankFeedback"),
    "nouns.imports.models": ("ImportSummary", "ImportUndone", "KeptMemory", "KeysRenamed", "UnusedImport"),
    "nouns.imports.report": ("ImportReport", "Problem"),
    "nouns.jobs.models": ("JobOutcome", "JobRun", "JobStatus"),
    "nouns.keys.models": ("ApiKey", "Grant", "IssuedKey", "KeyHolder", "OpenGrant"),
    "nouns.layers.models": ("Layer",),
    "nouns.links.models": ("StaleSummary",),
    "nouns.maintenance.models": ("Check", "GraphReport"),
    "nouns.memories.models": (
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
    "nouns.plans.dedupe": ("DedupePlan",),
    "nouns.plans.models": ("PlanOutcome", "PlanSummary", "PlanUndone"),
    "nouns.plans.prune": ("PrunePlan",),
    "nouns.plans.redact": ("RedactPlan",),
    "nouns.quality.models": (
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
    "nouns.readers.models": ("Reader", "Shared"),
    "nouns.search.models": ("Hit", "Reranked", "SearchRequest", "SearchResult"),
    "nouns.settings.models": ("Languages", "Setting"),
    "nouns.status.models": ("LayerStatus", "Status"),
    "nouns.history.models": ("Change", "FieldDifference", "Version", "DiffRun"),
    "search.embed.embedder": ("Embedder",),
    "search.rerank.reranker": ("Reranker",),
    "settings": ("Settings",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals().setdefault(name, getattr(import_module(f"pgrecall.{_MODULE_OF[name]}"), name))

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULE_OF})
