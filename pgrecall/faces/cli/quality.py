"""Commands about the quality of searches: report, experiment, miss, replay."""

from __future__ import annotations

from typing import Any, get_args

import click
from click.exceptions import Exit

from pgrecall.faces.cli.console import SafeConsole, notes, output, print_json, table
from pgrecall.faces.cli.invocation import DONE, NOTHING_FOUND, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import (
    TEXT,
    clock,
    filter_options,
    json_option,
    limit_option,
    min_relevance_option,
    now_option,
    parse_since,
    parse_until,
    read_arm_weights,
    read_query,
    read_search_options,
    reference_argument,
    since_option,
)
from pgrecall.faces.wording import counted
from pgrecall.models.quality import (
    ArmUse,
    Experiment,
    ExperimentArm,
    ExperimentDifference,
    Miss,
    Quality,
    Replay,
    ReplayedSearch,
    Share,
    percent,
)
from pgrecall.models.search import VitalityMode

SHOWN_RANKS = 10

mode_option = click.option(
    "--vitality-mode", type=click.Choice(get_args(VitalityMode)), help="How vitality changes the score."
)
weight_option = click.option("--vitality-weight", type=float, help="Weight of vitality.")
profile_option = click.option("--profile", type=TEXT, help="Profile to search with.")
arms_option = click.option(
    "--weight",
    "weights",
    type=TEXT,
    multiple=True,
    metavar="ARM=N",
    help="Weight of an arm, 0 to 10; may be repeated.",
)


@click.group("quality", cls=CommandGroup)
def quality() -> None:
    """Show how well searches answer, why one missed a memory, and what other settings would move."""


@quality.command("report")
@since_option
@limit_option(10_000, 100_000, "searches, the newest ones")
@click.option(
    "--questions",
    type=click.IntRange(1, 1000),
    default=20,
    metavar="N",
    help="Maximum number of unanswered questions.",
)
@json_option
@pass_globals
def report(given: GlobalOptions, since: str | None, limit: int, questions: int, as_json: bool) -> None:
    """Show how often what was shown was used, by rank, and which questions nothing answered.

    Exit code 1 when no search is logged.
    """
    begin = parse_since(since, clock())
    with given.opened() as memory:
        found = memory.quality.report(since=begin, limit=limit, questions=questions)
    if as_json:
        print_json(found)
    elif found.searches:
        show_quality(output(), found)
    else:
        notes().print("No search is logged.")
    raise Exit(DONE if found.searches else NOTHING_FOUND)


@quality.command("experiment")
@click.option(
    "--number",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Number of the experiment; else the newest.",
)
@click.option(
    "--difference",
    type=click.FloatRange(0.01, 0.5),
    default=0.1,
    metavar="SHARE",
    help="Smallest difference of shares worth knowing.",
)
@json_option
@pass_globals
def experiment(given: GlobalOptions, number: int | None, difference: float, as_json: bool) -> None:
    """Show by arm of a randomised experiment how often what was shown was used, and what can be concluded.

    Set search.experiment to 1 to begin the first. Exit code 1 when nothing can be concluded.
    """
    with given.opened() as memory:
        found = memory.quality.experiment(number, difference=difference)
    if as_json:
        print_json(found)
    else:
        show_experiment(output(), found)
    raise Exit(DONE if found.refused is None else NOTHING_FOUND)


@quality.command("miss")
@click.argument("question", metavar="QUESTION", help="The question; - reads it from standard input.")
@reference_argument
@click.option("-k", type=click.IntRange(1, 1000), default=10, metavar="N", help="Hits that the search shows.")
@filter_options
@min_relevance_option
@click.option("--require-answer", is_flag=True, help="Show nothing if probably no memory answers.")
@weight_option
@mode_option
@profile_option
@arms_option
@json_option
@now_option
@pass_globals
def miss(
    given: GlobalOptions,
    /,
    question: str,
    memory: int | str,
    weights: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Tell why a search for QUESTION does not show a memory: its filters, its rank, what each arm saw.

    Exit code 1 when the search does not show it.
    """
    asked, arms = read_query(question), read_arm_weights(weights)
    arguments = read_search_options(options)
    with given.opened(embeds=True) as client:
        found = client.quality.miss(asked, memory, weights=arms or None, **arguments)
    if as_json:
        print_json(found)
    else:
        show_miss(output(), found)
    raise Exit(DONE if found.outcome == "found" else NOTHING_FOUND)


@quality.command("replay")
@weight_option
@mode_option
@profile_option
@arms_option
@click.option("-k", type=click.IntRange(1, 100), default=10, metavar="N", help="Hits of each search.")
@click.option("--since", metavar="TIME", help="Only searches since this date, or since 7d, 2w, 6m, 1y ago.")
@click.option("--until", metavar="TIME", help="Only searches up to this date, which is included.")
@limit_option(100, 1000, "searches, the newest ones")
@click.option(
    "--moved",
    type=click.IntRange(0, 1000),
    default=10,
    metavar="N",
    help="Maximum number of moved searches to show.",
)
@json_option
@pass_globals
def replay(
    given: GlobalOptions,
    /,
    weights: tuple[str, ...],
    since: str | None,
    until: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Ask logged questions again with changed weights or modes, and show what would move. Changes nothing.

    Exit code 1 when no search is logged.
    """
    now = clock()
    begin, end = parse_since(since, now), parse_until(until, now)
    arms = read_arm_weights(weights)
    with given.opened(embeds=True) as client:
        found = client.quality.replay(since=begin, until=end, weights=arms or None, **options)
    if as_json:
        print_json(found)
    elif found.searches or found.refused:
        show_replay(output(), found)
    else:
        notes().print("No search is logged.")
    raise Exit(DONE if found.searches else NOTHING_FOUND)


def show_quality(console: SafeConsole, found: Quality) -> None:
    """The conclusion, a table of ranks, and one of unanswered questions."""
    console.print(
        f"{counted(found.searches, 'search', 'searches')}; {found.empty:,} showed nothing; "
        f"of {found.followed:,} it is known what became of them."
    )
    console.print(found.conclusion)
    rows = table("rank", "shown", "known", "used", "rejected", "share used, 95 % interval")
    for rank in found.ranks[:SHOWN_RANKS]:
        counts = (rank.rank, rank.shown, rank.share.total, rank.share.count, rank.rejected)
        rows.add_row(*(f"{count:,}" for count in counts), share_words(rank.share))
    console.print()
    console.print(rows)
    if found.unanswered:
        console.print()
        asked = table("asked", "showed nothing", "none used", "last", "question that nothing answered")
        for one in found.unanswered:
            times = (one.times, one.empty, one.rejected)
            asked.add_row(*(f"{count:,}" for count in times), f"{one.last_at:%Y-%m-%d}", one.question[:200])
        console.print(asked)


def show_experiment(console: SafeConsole, found: Experiment) -> None:
    """The conclusion, a table of the arms, and the differences."""
    if found.number is None:
        console.print(found.conclusion)
        return
    console.print(f"Experiment {found.number} {'runs' if found.running else 'does not run'}.")
    console.print(found.conclusion)
    console.print(
        f"Not in it: {counted(found.without_session, 'search', 'searches')} without a session, "
        f"{found.not_assigned:,} that chance did not decide."
    )
    rows = table(
        "arm",
        "weight",
        "sessions",
        "searches",
        "sessions with use",
        "share used, 95 % interval",
        "less default",
    )
    differences = {one.arm: one for one in found.differences}
    for arm in found.arms:
        counts = (arm.sessions, arm.searches, arm.used)
        rows.add_row(
            arm.arm,
            ", ".join(f"{weight:g}" for weight in arm.weights),
            *(f"{count:,}" for count in counts),
            arm_words(arm),
            difference_words(differences.get(arm.arm)),
        )
    console.print()
    console.print(rows)


def arm_words(arm: ExperimentArm) -> str:
    """The share of an arm with its interval; of nothing there is none."""
    if arm.share is None or arm.low is None or arm.high is None:
        return ""
    return f"{arm.share:.0%} [{arm.low:.0%}, {arm.high:.0%}]"


def difference_words(one: ExperimentDifference | None) -> str:
    """A difference in points of per cent with its interval."""
    if one is None:
        return ""
    return f"{100 * one.difference:+.1f} [{100 * one.low:+.1f}, {100 * one.high:+.1f}]"


def show_miss(console: SafeConsole, found: Miss) -> None:
    """The reason, and a line for each arm."""
    for step in found.skipped:
        notes().print(f"Skipped: {step}")
    console.print(found.sentence)
    rows = table("arm", "what it saw")
    for arm, seen in sorted(found.arms.items()):
        rows.add_row(arm, "; ".join(f"{name} {_value(value)}" for name, value in seen.items()))
    console.print(rows)


def show_replay(console: SafeConsole, found: Replay) -> None:
    """What would move, whether it would be better, and use by arm."""
    for step in found.skipped:
        notes().print(f"Skipped: {step}")
    if found.refused:
        notes().print(f"{counted(found.refused, 'search', 'searches')} cannot be asked again.")
    overlap = "" if found.overlap is None else f" On average {percent(found.overlap)} of the hits stay."
    console.print(
        f"{counted(found.searches, 'search', 'searches')} asked again: {found.same:,} would show the same, "
        f"{found.same_first:,} the same first hit.{overlap}"
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
        moves = table("search", "question", "new", "gone", "gain")
        for one in found.moved:
            moves.add_row(*_move_row(one))
        console.print(moves)


def share_words(share: Share) -> str:
    """A share with its interval; of nothing there is none."""
    if share.value is None or share.low is None or share.high is None:
        return ""
    return f"{percent(share.value)} [{percent(share.low)}, {percent(share.high)}]"


def _arm_row(arm: ArmUse) -> tuple[str, ...]:
    found, alone = arm.share, arm.alone
    return (
        arm.arm,
        f"{found.total:,}",
        f"{found.count:,}",
        share_words(found),
        f"{alone.total:,}",
        share_words(alone),
    )


def _move_row(one: ReplayedSearch) -> tuple[str, ...]:
    entered, left = (" ".join(map(str, ids[:5])) for ids in (one.entered, one.left))
    return str(one.search_id), one.query[:120], entered, left, "" if one.gain is None else f"{one.gain:+.2f}"


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(map(str, value)) or "none"
    return str(value)
