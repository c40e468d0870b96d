"""Output of the quality commands: reports, experiments, reasons of a miss, replays."""

from __future__ import annotations

from pgrecall.faces.cli.rendering.console import SafeConsole, notes, table
from pgrecall.faces.wording import counted, seen_words
from pgrecall.nouns.quality.models import (
    ArmUse,
    Experiment,
    ExperimentDifference,
    Miss,
    Quality,
    Replay,
    ReplayedSearch,
    Share,
    percent,
)

SHOWN_RANKS = 10


def show_quality(console: SafeConsole, found: Quality) -> None:
    """The conclusion, a table of ranks, and one of unanswered queries."""
    console.print(
        f"{counted(found.searches, 'search', 'searches')}: {found.empty:,} showed nothing, "
        f"and for {found.followed:,} it is known whether a hit was used."
    )
    console.print(found.conclusion)
    rows = table("rank", "shown", "known", "used", "rejected", "share used, 95 % interval")
    for rank in found.ranks[:SHOWN_RANKS]:
        counts = (rank.rank, rank.shown, rank.share.total, rank.share.count, rank.rejected)
        rows.add_row(*(f"{count:,}" for count in counts), _share_words(rank.share))
    console.print()
    console.print(rows)
    if found.unanswered:
        console.print()
        asked = table("asked", "showed nothing", "none used", "last", "unanswered query")
        for one in found.unanswered:
            times = (one.times, one.empty, one.rejected)
            asked.add_row(*(f"{count:,}" for count in times), f"{one.last_at:%Y-%m-%d}", one.query[:200])
        console.print(asked)


def show_experiment(console: SafeConsole, found: Experiment) -> None:
    """The conclusion, a table of the arms, and the differences."""
    if found.refused == "no_experiment":
        console.print(found.conclusion)
        return
    console.print(f"Experiment {found.number} {'is running' if found.running else 'has ended'}.")
    console.print(found.conclusion)
    console.print(
        f"Not counted: {counted(found.without_session, 'search', 'searches')} without a session, and "
        f"{found.not_assigned:,} whose caller chose the weight or whose session changed its arm."
    )
    rows = table(
        "arm",
        "weight",
        "sessions",
        "searches",
        "sessions with use",
        "share used, 95 % interval",
        "difference",
    )
    differences = {one.arm: one for one in found.differences}
    for arm in found.arms:
        counts = (arm.sessions, arm.searches, arm.used)
        rows.add_row(
            arm.arm,
            ", ".join(f"{weight:g}" for weight in arm.weights),
            *(f"{count:,}" for count in counts),
            interval_words(arm.share, arm.low, arm.high),
            difference_words(differences.get(arm.arm)),
        )
    console.print()
    console.print(rows)


def difference_words(one: ExperimentDifference | None) -> str:
    """Formats a difference in percentage points with its interval."""
    if one is None:
        return ""
    return f"{100 * one.difference:+.1f} [{100 * one.low:+.1f}, {100 * one.high:+.1f}]"


def show_miss(console: SafeConsole, found: Miss) -> None:
    """The reason, and a line for each arm."""
    for step in found.skipped:
        notes().print(f"Skipped: {step}")
    console.print(found.sentence)
    rows = table("arm", "findings")
    for arm, seen in sorted(found.arms.items()):
        rows.add_row(arm, seen_words(arm, seen))
    console.print(rows)


def show_replay(console: SafeConsole, found: Replay) -> None:
    """Prints what would change, whether it would be better, and use by arm."""
    for step in found.skipped:
        notes().print(f"Skipped: {step}")
    if found.refused:
        notes().print(f"{counted(found.refused, 'search', 'searches')} cannot be repeated.")
    overlap = "" if found.overlap is None else f" On average {percent(found.overlap)} of the hits stay."
    console.print(
        f"{counted(found.searches, 'search', 'searches')} repeated: {found.same:,} would show the same hits "
        f"in the same order, {found.same_first:,} the same first hit.{overlap}"
    )
    if found.judged:
        console.print(
            f"Of {found.judged:,} with a used memory, it would rank higher in {found.better:,} and lower in "
            f"{found.worse:,}."
        )
    console.print(found.conclusion)
    if found.arms:
        console.print()
        rows = table("arm", "found", "used", "share used, 95 % interval", "found alone", "share used")
        for arm in found.arms:
            rows.add_row(*_arm_row(arm))
        console.print(rows)
    if found.moved:
        console.print()
        moves = table("search", "query", "new", "gone", "gain")
        for one in found.moved:
            moves.add_row(*_move_row(one))
        console.print(moves)


def interval_words(share: float | None, low: float | None, high: float | None) -> str:
    """Formats a share with its interval; empty without a total."""
    if share is None or low is None or high is None:
        return ""
    return f"{percent(share)} [{percent(low)}, {percent(high)}]"


def _share_words(share: Share) -> str:
    return interval_words(share.value, share.low, share.high)


def _arm_row(arm: ArmUse) -> tuple[str, ...]:
    found, alone = arm.share, arm.alone
    return (
        arm.arm,
        f"{found.total:,}",
        f"{found.count:,}",
        _share_words(found),
        f"{alone.total:,}",
        _share_words(alone),
    )


def _move_row(one: ReplayedSearch) -> tuple[str, ...]:
    entered, left = (" ".join(map(str, ids[:5])) for ids in (one.entered, one.left))
    return str(one.search_id), one.query[:120], entered, left, "" if one.gain is None else f"{one.gain:+.2f}"
