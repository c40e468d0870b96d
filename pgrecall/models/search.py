"""A question, and what answers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pgrecall.models.memories import Role

VitalityMode = Literal["odds", "multiply", "bounded", "off"]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One question and everything that narrows or weighs its answer.

    ``vitality_weight`` None takes the database's setting (0.5). ``now`` None is the database's
    clock; a given ``now`` asks how the same memories would rank at that moment. With ``log`` each
    hit is logged as shown, in the session ``session_id``, which makes it a little livelier.
    """

    query: str
    k: int = 10
    layers: tuple[str, ...] | None = None
    roles: tuple[str, ...] | None = None
    authors: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    include_archived: bool = False
    include_superseded: bool = False
    include_invalid: bool = False
    min_relevance: float = 0.0
    vitality_mode: VitalityMode = "odds"
    vitality_weight: float | None = None
    explain: bool = True
    now: datetime | None = None
    session_id: str | None = None
    log: bool = True

    @property
    def logged(self) -> bool:
        """Whether what is shown is logged: never for a question about another moment than this one."""
        return self.log and self.now is None


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer. ``relevance`` is p(answers the question); ``score`` also weighs vitality.

    ``explanation`` is empty unless the request asked for it.
    """

    id: int
    key: str | None
    layer: str
    title: str
    body: str
    role: Role | None
    author: str | None
    tags: tuple[str, ...]
    happened_at: datetime
    score: float
    relevance: float
    vitality: float
    zone: str
    rank: int
    explanation: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and what was left out on the way.

    ``names`` are the known names taken out of the embedded question; ``skipped`` says in a
    sentence each which steps did not run. ``no_match`` holds when nothing was good enough.
    """

    hits: tuple[Hit, ...]
    names: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def no_match(self) -> bool:
        return not self.hits
