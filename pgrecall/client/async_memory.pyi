# Made by scripts/async_stub.py from the methods of Memory; do not edit.
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Self, Unpack

from pgrecall.arguments import DraftFields, LayerFields, SearchOptions
from pgrecall.embedded import EmbeddedServer
from pgrecall.models import (
    Access,
    AccessKind,
    Calibration,
    Check,
    ContextBlock,
    Draft,
    GraphReport,
    ImportReport,
    JobOutcome,
    JobRun,
    JobStatus,
    JudgedQuery,
    Languages,
    Layer,
    LayerStatus,
    Order,
    Problem,
    RelevanceModel,
    Remembered,
    RerankModel,
    SearchResult,
    Setting,
    Status,
    StoredMemory,
    VitalityTerms,
)
from pgrecall.models.feedback import Feedback, JudgedSearch
from pgrecall.models.keys import ApiKey, IssuedKey, KeyHolder
from pgrecall.models.landscape import Landscape, LandscapeList, ZoneShare
from pgrecall.models.pictures import AccessRecord, Neighbourhood, VitalityCounts, VitalityPoint
from pgrecall.models.prune import PlanSummary, PruneOutcome, PrunePlan, PruneUndone
from pgrecall.models.service import Census, SchemaStamp
from pgrecall.search.embedding import Embedder
from pgrecall.search.reranking import Reranker
from pgrecall.settings import Settings
from pgrecall.vitality import Preset

class AsyncMemory:
    tenant: str
    session_id: str | None
    def __init__(
        self,
        url: str | None = None,
        *,
        tenant: str | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        timeout: float | None = None,
    ) -> None: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def embedder(self) -> Embedder | None: ...
    @property
    def reranker(self) -> Reranker | None: ...
    @property
    def server(self) -> EmbeddedServer | None: ...
    def for_tenant(self, tenant: str) -> Self: ...
    def session(self, session_id: str) -> Self: ...
    def pool_figures(self) -> dict[str, int]: ...
    async def open(self) -> Self: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    async def remember(self, body: str, **fields: Unpack[DraftFields]) -> Remembered: ...
    async def remember_many(
        self,
        drafts: Iterable[Draft],
        *,
        now: datetime | None = None,
    ) -> list[Remembered]: ...
    async def import_drafts(
        self,
        items: Iterable[Draft | Problem],
        *,
        source: str,
        strict: bool = False,
        progress: Callable[[int], None] = ...,
    ) -> ImportReport: ...
    async def get(self, memory: int | str, *, now: datetime | None = None) -> StoredMemory: ...
    async def keys_of(self, source: str) -> list[str]: ...
    async def forget(self, memory: int | str, *, hard: bool = False, now: datetime | None = None) -> bool: ...
    async def link(
        self,
        source: int | str,
        target: int | str,
        relation: str = "links_to",
        *,
        weight: float = 1.0,
        now: datetime | None = None,
    ) -> bool: ...
    async def supersede(self, old: int | str, new: int | str, *, now: datetime | None = None) -> bool: ...
    async def record_access(
        self,
        memory: int | str,
        kind: AccessKind = "read",
        *,
        at: datetime | None = None,
        session_id: str | None = None,
        idempotency_key: str | None = None,
        now: datetime | None = None,
    ) -> bool: ...
    async def record_accesses(self, accesses: Iterable[Access], *, now: datetime | None = None) -> int: ...
    async def search(self, query: str = "", **options: Unpack[SearchOptions]) -> SearchResult: ...
    async def context(
        self,
        query: str = "",
        *,
        budget_tokens: int = 2000,
        per_layer: Mapping[str, int] | None = None,
        order: Order = "score",
        mmr_lambda: float = 0.8,
        duplicate_at: float = 0.92,
        count_tokens: Callable[[str], int] | None = None,
        **options: Unpack[SearchOptions],
    ) -> ContextBlock: ...
    async def used(
        self,
        search_id: int | None,
        memories: int | str | Sequence[int | str],
        *,
        now: datetime | None = None,
    ) -> int: ...
    async def rejected(
        self,
        search_id: int | None,
        memories: int | str | Sequence[int | str],
        *,
        now: datetime | None = None,
    ) -> int: ...
    async def feedback(
        self,
        *,
        limit: int = 50,
        unused: bool = False,
        since: datetime | None = None,
    ) -> Feedback: ...
    async def feedback_qrels(
        self,
        *,
        since: datetime | None = None,
        skipped: bool = True,
        limit: int = 10000,
    ) -> tuple[JudgedSearch, ...]: ...
    async def calibrate(
        self,
        qrels: Path | str | Iterable[JudgedQuery],
        profile: str = "balanced",
        *,
        reranker: bool = False,
        dry_run: bool = False,
        force: bool = False,
        progress: Callable[[int], None] = ...,
    ) -> Calibration: ...
    async def reset_calibration(self, profile: str = "balanced", *, reranker: bool = False) -> bool: ...
    async def relevance_models(self, profile: str | None = None) -> tuple[RelevanceModel, ...]: ...
    async def rerank_models(self) -> tuple[RerankModel, ...]: ...
    async def refresh_statistics(self, *, now: datetime | None = None) -> int: ...
    async def refresh_graph(self) -> GraphReport: ...
    async def pin(self, memory: int | str, pinned: bool = True, *, now: datetime | None = None) -> bool: ...
    async def fold(self) -> int: ...
    async def rebuild(self, memories: Sequence[int | str] | None = None) -> int: ...
    async def verify(self, *, now: datetime | None = None) -> tuple[Check, ...]: ...
    async def vitality_as_of(self, memory: int | str, at: datetime) -> VitalityTerms: ...
    async def zones_as_of(self, at: datetime) -> tuple[LayerStatus, ...]: ...
    async def status(self, *, now: datetime | None = None) -> Status: ...
    async def run_job(
        self,
        name: str,
        *,
        all_tenants: bool = False,
        now: datetime | None = None,
        stop: Event | None = None,
        progress: Callable[[str, int], None] = ...,
    ) -> list[JobOutcome]: ...
    async def job_runs(self, name: str | None = None, *, limit: int = 20) -> tuple[JobRun, ...]: ...
    async def jobs(self, *, now: datetime | None = None) -> tuple[JobStatus, ...]: ...
    async def plan_prune(
        self,
        *,
        max_count: int | None = None,
        max_share: float | None = None,
        grace_days: float | None = None,
        layers: Sequence[str] | None = None,
        now: datetime | None = None,
    ) -> PrunePlan: ...
    async def prune_plan(self, plan: int, *, limit: int | None = None) -> PrunePlan: ...
    async def prune_plans(self, *, limit: int = 20) -> tuple[PlanSummary, ...]: ...
    async def apply_prune(self, plan: int, *, now: datetime | None = None) -> PruneOutcome: ...
    async def undo_prune(self, plan: int, *, now: datetime | None = None) -> PruneUndone: ...
    async def layers(self) -> tuple[Layer, ...]: ...
    async def set_layer(
        self, name: str, *, now: datetime | None = None, **fields: Unpack[LayerFields]
    ) -> int: ...
    async def drop_layer(self, name: str, *, now: datetime | None = None) -> bool: ...
    async def use_preset(self, name: Preset, *, now: datetime | None = None) -> int: ...
    async def tuning(self) -> tuple[Setting, ...]: ...
    async def configure(self, name: str, value: float | None) -> None: ...
    async def languages(self) -> Languages: ...
    async def set_language(self, name: str) -> int: ...
    async def accesses_of(self, memory: int | str, *, limit: int = 1000) -> tuple[AccessRecord, ...]: ...
    async def vitality_histogram(
        self,
        bins: int = 20,
        *,
        now: datetime | None = None,
    ) -> tuple[VitalityCounts, ...]: ...
    async def vitality_curve(
        self,
        memory: int | str,
        instants: Sequence[datetime],
        *,
        now: datetime | None = None,
    ) -> tuple[VitalityPoint, ...]: ...
    async def neighbourhood(
        self,
        memory: int | str,
        *,
        hops: int = 2,
        limit: int = 60,
        now: datetime | None = None,
    ) -> Neighbourhood: ...
    async def landscape(
        self,
        lists: Sequence[LandscapeList] = ...,
        *,
        layer: str | None = None,
        limit: int = 10,
        offset: int = 0,
        bins: int = 20,
        now: datetime | None = None,
    ) -> Landscape: ...
    async def zones_over_time(
        self,
        instants: Sequence[datetime],
        *,
        sample: int = 1000,
    ) -> tuple[ZoneShare, ...]: ...
    async def create_key(self, name: str, *, now: datetime | None = None) -> IssuedKey: ...
    async def revoke_key(self, key: int, *, now: datetime | None = None) -> bool: ...
    async def api_keys(self) -> tuple[ApiKey, ...]: ...
    async def any_key(self) -> bool: ...
    async def key_holder(self, secret: str, *, now: datetime | None = None) -> KeyHolder | None: ...
    async def schema_state(self) -> SchemaStamp: ...
    async def census(self) -> Census: ...
