"""The values that cross pgrecall's borders: frozen, typed, without behaviour of their own.

All times are timezone-aware datetimes; all shares, probabilities and vitalities lie in [0, 1].

memories    what is remembered, its vitality and its links
use         accesses
search      questions and answers
context     a block of text for a prompt
export      a tenant as lines of JSON
feedback    what became of what was shown
prune       prune plans and what became of them
pictures    what pictures are drawn from
landscape   how lively all memories are
calibration judged queries, coefficients, and how well they fit
layers      layers, settings and languages
keys        keys of the HTTP service
service     figures of a whole database
jobs        what jobs did, and where they stand
reports     imports, the link graph, the state of a tenant
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.later import found_later

if TYPE_CHECKING:
    from pgrecall.models.calibration import (
        FEATURES,
        Agreement,
        Calibration,
        Fitted,
        JudgedQuery,
        Judgement,
        RelevanceModel,
        ReliabilityBin,
        RerankModel,
    )
    from pgrecall.models.context import ContextBlock, ContextRequest, ContextSource, LeftOut, Order
    from pgrecall.models.export import Export
    from pgrecall.models.feedback import Feedback, JudgedHit, JudgedSearch, MemoryFeedback, RankFeedback
    from pgrecall.models.jobs import JobOutcome, JobRun, JobStatus
    from pgrecall.models.keys import ApiKey, IssuedKey, KeyHolder
    from pgrecall.models.landscape import Landscape, ZoneShare
    from pgrecall.models.layers import Languages, Layer, Setting
    from pgrecall.models.memories import (
        RELATIONS,
        Draft,
        DraftLink,
        Link,
        Outcome,
        Remembered,
        StoredMemory,
        VitalityTerms,
    )
    from pgrecall.models.pictures import (
        AccessRecord,
        GraphLink,
        GraphNode,
        Neighbourhood,
        VitalityCounts,
        VitalityPoint,
    )
    from pgrecall.models.prune import PlanSummary, PruneOutcome, PrunePlan, PruneUndone
    from pgrecall.models.reports import Check, GraphReport, ImportReport, LayerStatus, Problem, Status
    from pgrecall.models.role import Role
    from pgrecall.models.search import (
        Hit,
        Reranked,
        SearchRequest,
        SearchResult,
        VitalityMode,
    )
    from pgrecall.models.use import Access, AccessKind

__all__ = [
    "FEATURES",
    "RELATIONS",
    "Access",
    "AccessKind",
    "AccessRecord",
    "Agreement",
    "ApiKey",
    "Calibration",
    "Check",
    "ContextBlock",
    "ContextRequest",
    "ContextSource",
    "Draft",
    "DraftLink",
    "Export",
    "Feedback",
    "Fitted",
    "GraphLink",
    "GraphNode",
    "GraphReport",
    "Hit",
    "ImportReport",
    "IssuedKey",
    "JobOutcome",
    "JobRun",
    "JobStatus",
    "JudgedHit",
    "JudgedQuery",
    "JudgedSearch",
    "Judgement",
    "KeyHolder",
    "Landscape",
    "Languages",
    "Layer",
    "LayerStatus",
    "LeftOut",
    "Link",
    "MemoryFeedback",
    "Neighbourhood",
    "Order",
    "Outcome",
    "PlanSummary",
    "Problem",
    "PruneOutcome",
    "PrunePlan",
    "PruneUndone",
    "RankFeedback",
    "RelevanceModel",
    "ReliabilityBin",
    "Remembered",
    "RerankModel",
    "Reranked",
    "Role",
    "SearchRequest",
    "SearchResult",
    "Setting",
    "Status",
    "StoredMemory",
    "VitalityCounts",
    "VitalityMode",
    "VitalityPoint",
    "VitalityTerms",
    "ZoneShare",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = found_later(
        __name__,
        {
            "calibration": (
                "FEATURES",
                "Agreement",
                "Calibration",
                "Fitted",
                "JudgedQuery",
                "Judgement",
                "RelevanceModel",
                "ReliabilityBin",
                "RerankModel",
            ),
            "context": ("ContextBlock", "ContextRequest", "ContextSource", "LeftOut", "Order"),
            "export": ("Export",),
            "feedback": ("Feedback", "JudgedHit", "JudgedSearch", "MemoryFeedback", "RankFeedback"),
            "jobs": ("JobOutcome", "JobRun", "JobStatus"),
            "keys": ("ApiKey", "IssuedKey", "KeyHolder"),
            "landscape": ("Landscape", "ZoneShare"),
            "layers": ("Languages", "Layer", "Setting"),
            "memories": (
                "RELATIONS",
                "Draft",
                "DraftLink",
                "Link",
                "Outcome",
                "Remembered",
                "StoredMemory",
                "VitalityTerms",
            ),
            "pictures": (
                "AccessRecord",
                "GraphLink",
                "GraphNode",
                "Neighbourhood",
                "VitalityCounts",
                "VitalityPoint",
            ),
            "prune": ("PlanSummary", "PruneOutcome", "PrunePlan", "PruneUndone"),
            "reports": ("Check", "GraphReport", "ImportReport", "LayerStatus", "Problem", "Status"),
            "role": ("Role",),
            "search": ("Hit", "Reranked", "SearchRequest", "SearchResult", "VitalityMode"),
            "use": ("Access", "AccessKind"),
        },
    )
