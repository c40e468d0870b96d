"""The quality of searches: shares with intervals, unanswered queries, misses and replays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

ENOUGH = 30
"""Minimum number of searches with a verdict or a use for a conclusion; with fewer, reports contain only
counts."""

MissOutcome = Literal[
    "found", "filtered", "ranked_lower", "too_irrelevant", "not_confident", "beyond_pool", "not_found"
]


@dataclass(frozen=True, slots=True)
class Share:
    """A share, ``count`` of ``total``, with its 95 % interval (Wilson); without a total there is none."""

    count: int
    total: int
    low: float | None
    high: float | None

    @property
    def value(self) -> float | None:
        """The share, 0 to 1."""
        return self.count / self.total if self.total else None


def percent(share: float) -> str:
    """Formats a share or probability, 0 to 1, in percent; only 0 becomes 0 % and only 1 becomes 100 %."""
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


@dataclass(frozen=True, slots=True)
class RankUse:
    """How often the hit at a rank was used.

    ``shown`` counts all searches; ``share`` is the share of uses in those with any verdict or use.
    """

    rank: int
    shown: int
    rejected: int
    share: Share


@dataclass(frozen=True, slots=True)
class UnansweredQuery:
    """A query without an answer.

    It was asked ``times`` times: ``empty`` searches showed nothing; in ``rejected`` searches, hits were
    judged and none was used. The newest search was ``search_id`` at ``last_at``.
    """

    query: str
    times: int
    empty: int
    rejected: int
    last_at: datetime
    search_id: int


@dataclass(frozen=True, slots=True)
class Quality:
    """How often searches showed a memory that was then used.

    Of ``searches``, ``empty`` showed nothing, and ``followed`` have a known outcome: a verdict, or an access
    to a hit in the same session. ``answered`` is the share of these in which a hit was used. ``conclusion``
    is a sentence; with too few outcomes it says so.
    """

    searches: int
    empty: int
    followed: int
    answered: Share
    ranks: tuple[RankUse, ...]
    unanswered: tuple[UnansweredQuery, ...]
    since: datetime | None
    until: datetime | None
    conclusion: str


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a search does not show a memory, or at which rank it does.

    Attributes:
        memory: its id.
        outcome: the reason; ``found`` if the search shows it.
        sentence: the outcome in words.
        filters: the filters that it does not pass, by name.
        rank: its rank among the candidates; without the filters, if they hide it; None if no arm found it.
        k: how many hits the search shows.
        candidates: how many candidates there are.
        score, relevance: its score and relevance; None if no arm found it.
        last_score: the score of the last hit shown; None if there are fewer than ``k``.
        confidence: probability that any candidate answers the query.
        arms: the result of each arm: of ``semantic`` the similarity and the rank by it, of ``lexical`` the
            words found and missing, of ``name``, ``cue`` and ``graph`` the rank; ``limit`` is how many an arm
            keeps.
        skipped: a sentence for each step of the search that did not run.
    """

    memory: int
    outcome: MissOutcome
    sentence: str
    filters: tuple[str, ...]
    rank: int | None
    k: int
    candidates: int
    score: float | None
    last_score: float | None
    relevance: float | None
    confidence: float | None
    arms: Mapping[str, Any]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedSearch:
    """A logged search, the memories it showed, and those that were used.

    ``followed``: there was a verdict on, or a use of, a memory that it showed.
    """

    id: int
    at: datetime
    query: str
    queries: tuple[str, ...] | None
    profile: str
    shown: tuple[int, ...]
    used: tuple[int, ...]
    followed: bool


@dataclass(frozen=True, slots=True)
class ReplayedSearch:
    """A logged query, asked again with today's settings and with changed ones.

    ``before`` and ``after`` are the ids of the hits, best first; ``used`` those that were used after the
    logged search. ``gain`` is the change of the reciprocal rank of the first used one; None without any.
    """

    search_id: int
    query: str
    at: datetime
    before: tuple[int, ...]
    after: tuple[int, ...]
    used: tuple[int, ...]
    gain: float | None

    @property
    def entered(self) -> tuple[int, ...]:
        """The hits that only the changed settings show."""
        return tuple(one for one in self.after if one not in self.before)

    @property
    def left(self) -> tuple[int, ...]:
        """The hits that only today's settings show."""
        return tuple(one for one in self.before if one not in self.after)


ExperimentArmName = Literal["off", "default", "other"]
ExperimentRefusal = Literal["no_experiment", "too_few", "no_use", "unequal", "weights_changed"]


@dataclass(frozen=True, slots=True)
class ExperimentArm:
    """The results of the sessions that an experiment assigned to one arm.

    Attributes:
        arm: ``off`` has no weight of vitality, ``default`` the configured one, ``other``
            ``search.experiment_weight``.
        weights: the weights of vitality in its searches.
        sessions: number of sessions.
        searches: number of searches in these sessions.
        used: number of sessions in which a hit was used.
        share: mean over its sessions of the share of searches with a used hit, 0 to 1.
        low, high: the 95 % interval of that mean (Wilson, with sessions as trials).
        reciprocal_rank: mean over its sessions of the reciprocal rank of the first used hit, 0 to 1.
    """

    arm: ExperimentArmName
    weights: tuple[float, ...]
    sessions: int
    searches: int
    used: int
    share: float | None
    low: float | None
    high: float | None
    reciprocal_rank: float | None


@dataclass(frozen=True, slots=True)
class ExperimentDifference:
    """The share of an arm minus that of ``default``, with its interval (Newcombe, 97.5 %, so that both
    intervals hold together with 95 %). ``verdict`` is None where the experiment draws no conclusion."""

    arm: ExperimentArmName
    difference: float
    low: float
    high: float
    verdict: Literal["better", "worse", "no_difference"] | None


@dataclass(frozen=True, slots=True)
class Experiment:
    """The report of a randomised experiment.

    Attributes:
        number: its number; None if there is none.
        running: whether it assigns sessions to arms now.
        arms: the results of each arm.
        differences: each arm compared with ``default``.
        without_session: searches in its period without a session, and therefore without an arm.
        not_assigned: other searches in its period without an arm: the caller set the weight, it was off,
            or the arm of their session changed.
        needed: number of sessions that each arm needs.
        missing: number of sessions still needed, over all arms.
        since, until: the times of its first and last search; None without any.
        refused: why there is no conclusion; None if there is one.
        conclusion: the conclusion, or the reason why there is none, in words.
    """

    number: int | None
    running: bool
    arms: tuple[ExperimentArm, ...]
    differences: tuple[ExperimentDifference, ...]
    without_session: int
    not_assigned: int
    needed: int
    missing: int
    since: datetime | None
    until: datetime | None
    refused: ExperimentRefusal | None
    conclusion: str


@dataclass(frozen=True, slots=True)
class ArmUse:
    """How often memories found by an arm were used, in replayed searches with a known outcome.

    ``alone`` is the same for memories that no other arm found.
    """

    arm: str
    share: Share
    alone: Share


@dataclass(frozen=True, slots=True)
class Replay:
    """Replayed queries: which results would change with other settings.

    Attributes:
        searches: number of searches that were repeated.
        refused: number that cannot be repeated, such as those of a deleted profile.
        same: number that would show the same hits in the same order.
        same_first: number that would show the same first hit.
        overlap: mean share of the hits that stay; None without searches.
        judged: number with a used memory.
        better, worse: number of these in which the first used memory would rank higher, or lower.
        gain: mean change of its reciprocal rank; None without any.
        gain_low, gain_high: the 95 % interval of that mean; None for fewer than 30.
        arms: how often the memories that each arm found were used, with today's settings.
        moved: the searches with the greatest changes of results.
        conclusion: a sentence; with too few outcomes it says so.
        skipped: a sentence for each step that did not run.
    """

    searches: int
    refused: int
    same: int
    same_first: int
    overlap: float | None
    judged: int
    better: int
    worse: int
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    arms: tuple[ArmUse, ...]
    moved: tuple[ReplayedSearch, ...]
    conclusion: str
    skipped: tuple[str, ...] = ()
