"""Summaries of replayed searches: which results would change, whether they would be better, and use by
arm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from pgrecall.errors import InvalidInput
from pgrecall.nouns.quality.models import ENOUGH, ArmUse, LoggedSearch, Replay, ReplayedSearch, Share
from pgrecall.nouns.search.models import Hit
from pgrecall.search.probabilities import Z, wilson_interval

MAX_HITS = 100
MAX_MOVED = 1000

ARMS = ("semantic", "lexical", "name", "cue", "graph")


@dataclass(frozen=True, slots=True)
class Replayed:
    """A logged search with the hits that it has today, and those with changed settings."""

    search: LoggedSearch
    before: Sequence[Hit]
    after: Sequence[Hit]


def require_change(change: Mapping[str, object], k: int, moved: int) -> None:
    """Raises InvalidInput if nothing is changed, or a number is out of bounds."""
    if not change:
        raise InvalidInput(
            "No setting is changed, so no result would change.",
            hint="Change weights, vitality_mode, vitality_weight or profile.",
        )
    for name, number, low, high in (("k", k, 1, MAX_HITS), ("moved", moved, 0, MAX_MOVED)):
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise InvalidInput(f"{name} is {number!r:.50}; it must lie between {low} and {high:,}.")


def replay_report(
    replayed: Sequence[Replayed], refused: int, moved: int, skipped: tuple[str, ...] = ()
) -> Replay:
    """Compares the hits of each search before and after.

    Args:
        refused: how many searches could not be asked again.
        moved: searches at most in the report.
        skipped: a sentence for each step that did not run.
    """
    pairs = [_compared(one) for one in replayed]
    gains = [pair.gain for pair in pairs if pair.gain is not None]
    low, high = _interval(gains)
    overlaps = [_overlap(pair) for pair in pairs]
    changed = [pair for pair in pairs if pair.before != pair.after]
    changed.sort(key=lambda pair: (-abs(pair.gain or 0.0), _overlap(pair), pair.search_id))
    return Replay(
        searches=len(pairs),
        refused=refused,
        same=len(pairs) - len(changed),
        same_first=sum(pair.before[:1] == pair.after[:1] for pair in pairs),
        overlap=fmean(overlaps) if overlaps else None,
        judged=len(gains),
        better=sum(gain > 0 for gain in gains),
        worse=sum(gain < 0 for gain in gains),
        gain=fmean(gains) if gains else None,
        gain_low=low,
        gain_high=high,
        arms=_arms(replayed),
        moved=tuple(changed[:moved]),
        conclusion=_conclusion(len(gains), low, high),
        skipped=skipped,
    )


def share_of(count: int, total: int) -> Share:
    """Returns a share with its interval, which is None without observations."""
    low, high = wilson_interval(count / total, total) if total else (None, None)
    return Share(count, total, low, high)


def _compared(one: Replayed) -> ReplayedSearch:
    before, after = (tuple(hit.id for hit in hits) for hits in (one.before, one.after))
    used = one.search.used
    gain = _reciprocal_rank(after, used) - _reciprocal_rank(before, used) if used else None
    query = one.search.query if one.search.query.strip() else "; ".join(one.search.queries or ())
    return ReplayedSearch(one.search.id, query, one.search.at, before, after, used, gain)


def _reciprocal_rank(ids: Sequence[int], used: Iterable[int]) -> float:
    wanted = set(used)
    return next((1 / rank for rank, one in enumerate(ids, 1) if one in wanted), 0.0)


def _overlap(pair: ReplayedSearch) -> float:
    longest = max(len(pair.before), len(pair.after))
    return len(set(pair.before) & set(pair.after)) / longest if longest else 1.0


def _interval(gains: Sequence[float]) -> tuple[float | None, float | None]:
    """The 95 % interval of the mean of paired differences; none of too few."""
    if len(gains) < ENOUGH:
        return None, None
    reach = Z * stdev(gains) / math.sqrt(len(gains))
    return fmean(gains) - reach, fmean(gains) + reach


def _conclusion(judged: int, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return (
            f"Too little to conclude from: {judged:,} of these searches {'has' if judged == 1 else 'have'} a "
            f"used memory, and {ENOUGH} are needed. The counts say what would change, not whether "
            "it would be better."
        )
    bounds = f"95 % interval {low:+.3f} to {high:+.3f} of the reciprocal rank, {judged:,} searches"
    if low > 0:
        return f"What was used would rank higher ({bounds})."
    if high < 0:
        return f"What was used would rank lower ({bounds})."
    return f"The difference is not distinguishable from chance ({bounds})."


def _arms(replayed: Sequence[Replayed]) -> tuple[ArmUse, ...]:
    """How often memories found by each arm today were used, in searches with a known outcome."""
    found: dict[str, list[bool]] = {arm: [] for arm in ARMS}
    alone: dict[str, list[bool]] = {arm: [] for arm in ARMS}
    for one in replayed:
        if not one.search.followed:
            continue
        for hit in one.before:
            arms = _finders(hit)
            for arm in arms:
                found[arm].append(hit.id in one.search.used)
                if len(arms) == 1:
                    alone[arm].append(hit.id in one.search.used)
    return tuple(
        ArmUse(arm, share_of(sum(found[arm]), len(found[arm])), share_of(sum(alone[arm]), len(alone[arm])))
        for arm in ARMS
        if found[arm]
    )


def _finders(hit: Hit) -> list[str]:
    """Returns the arms that found a hit themselves; similarity in meaning of a hit of another arm does not
    count."""
    arms = hit.explanation.get("arms", {})
    return [
        arm
        for arm in ARMS
        if arm in arms and (arm not in ("semantic", "lexical") or arms[arm].get("rank") is not None)
    ]
