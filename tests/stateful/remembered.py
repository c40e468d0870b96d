"""What a simple model keeps of one memory, and how lively the mathematics says it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from pgrecall.vitality.parameters import LayerRates, VitalityWeights
from pgrecall.vitality.score import ActivationTerms, activation_terms
from tests.vitality_reference.access_log import FoldedLog, LoggedAccess, fold
from tests.vitality_reference.spreading import add_spread

REFERENCES = frozenset({"links_to", "mentions", "implies", "supports"})
SPREADING = REFERENCES | {"next", "part_of"}
USES = frozenset({"read", "reference", "used"})


@dataclass
class Received:
    """A boost that one use of ``source`` passed on."""

    source: int
    amount: float
    at: datetime


@dataclass
class Archived:
    reason: str
    at: datetime
    plan: int | None = None


@dataclass
class Recorded:
    """A row of the log: the access, and when it was told."""

    access: LoggedAccess
    told: datetime


@dataclass
class Remembered:
    """One memory: what was said of it, and all that happened to it since."""

    id: int
    key: str | None
    layer: str
    title: str
    body: str
    role: str | None
    tags: tuple[str, ...]
    created: datetime
    born: datetime
    occurred: datetime | None = None
    expires: datetime | None = None
    valid_until: datetime | None = None
    pinned: bool = False
    archived: Archived | None = None
    superseded_by: int | None = None
    cut_size: int = 0
    waiting: bool = False
    log: list[Recorded] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)

    @property
    def live(self) -> bool:
        return self.archived is None

    @property
    def content(self) -> tuple[str, str]:
        return self.title, self.body

    def write(self, at: datetime, weight: float, told: datetime) -> None:
        self.record(at, weight, "write", None, told)

    def record(self, at: datetime, weight: float, kind: str, session: str | None, told: datetime) -> None:
        self.log.append(Recorded(LoggedAccess(at.timestamp(), weight, kind, session), told))

    def has_repeat(self, at: datetime, kind: str, session: str | None, burst: float) -> bool:
        """Whether such an access follows one of its kind and session within a burst."""
        return session is not None and any(
            known.access.kind == kind
            and known.access.session == session
            and at.timestamp() - burst < known.access.at <= at.timestamp()
            for known in self.log
        )

    def folded(self, burst: float) -> FoldedLog:
        return fold((row.access for row in self.log), burst)

    def boost(self, half_life: float) -> tuple[float, float | None]:
        """What uses of others have lent, in the order in which they were told, and its time."""
        stored: tuple[float, float | None] = (0.0, None)
        for one in self.received:
            stored = add_spread(*stored, one.amount, one.at.timestamp(), half_life)
        return stored


@dataclass(frozen=True)
class Surroundings:
    """What a memory's vitality depends on beside itself."""

    rates: LayerRates
    weights: VitalityWeights
    burst: float
    in_degree: int
    last_linked: datetime | None


def terms_of(memory: Remembered, around: Surroundings, now: datetime) -> ActivationTerms:
    """Every term of S at ``now``, by the pure mathematics."""
    spread, spread_at = memory.boost(around.weights.spread_half_life_days)
    return activation_terms(
        memory.folded(around.burst).summary,
        around.rates,
        now.timestamp(),
        in_degree=around.in_degree,
        spread=spread,
        spread_at=spread_at,
        last_linked_at=None if around.last_linked is None else around.last_linked.timestamp(),
        weights=around.weights,
    )
