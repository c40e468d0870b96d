"""Commands about the quality of searches: report, experiment, miss, replay."""

from __future__ import annotations

from typing import Any, get_args

import click

from pgrecall.faces.cli.declared_commands import add_commands, command
from pgrecall.faces.cli.invocation import CommandGroup, GlobalOptions, finish, pass_globals
from pgrecall.faces.cli.options import (
    TEXT,
    current_time,
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
from pgrecall.faces.cli.rendering.quality import show_experiment, show_miss, show_quality, show_replay
from pgrecall.nouns.quality._sync import QualityGroup
from pgrecall.nouns.search.models import VitalityMode

NO_SEARCH = "No search is logged."
NONE_SINCE = "No search of this time is logged."

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
    """Show how well searches answer, why one missed a memory, and what other settings would change."""


@quality.command("report")
@since_option
@limit_option(10_000, 100_000, "searches, newest first")
@click.option(
    "--unanswered",
    type=click.IntRange(1, 1000),
    default=20,
    metavar="N",
    help="Maximum number of unanswered queries.",
)
@json_option
@pass_globals
def report(given: GlobalOptions, since: str | None, limit: int, unanswered: int, as_json: bool) -> None:
    """Show how often hits were used, by rank, and which queries had no answer.

    Exit code 1 when no search is logged.
    """
    begin = parse_since(since, current_time())
    with given.opened() as memory:
        found = memory.quality.report(since=begin, limit=limit, unanswered=unanswered)
    finish(found, as_json, show_quality, found=found.searches, otherwise=NONE_SINCE if since else NO_SEARCH)


@quality.command("miss")
@click.argument("query", metavar="QUERY", help="Query; - reads it from standard input.")
@reference_argument
@click.option(
    "-k", type=click.IntRange(1, 1000), default=10, metavar="N", help="Number of hits that the search shows."
)
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
    query: str,
    memory: int | str,
    weights: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Explain why a search for QUERY does not show a memory: its filters, rank, and what each arm found.

    Exit code 1 when the search does not show it.
    """
    asked, arms = read_query(query), read_arm_weights(weights)
    arguments = read_search_options(options)
    with given.opened(embeds=True) as client:
        found = client.quality.miss(asked, memory, weights=arms or None, **arguments)
    finish(found, as_json, show_miss, found=found.outcome == "found")


@quality.command("replay")
@weight_option
@mode_option
@profile_option
@arms_option
@click.option(
    "-k", type=click.IntRange(1, 100), default=10, metavar="N", help="Number of hits of each search."
)
@click.option("--since", metavar="TIME", help="Only searches since this date, or since 7d, 2w, 6m, 1y ago.")
@click.option("--until", metavar="TIME", help="Only searches up to this date, which is included.")
@limit_option(100, 1000, "searches, newest first")
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
    """Replay logged queries with other weights or modes, and show what would change. Changes nothing.

    Exit code 1 when no search is logged.
    """
    now = current_time()
    begin, end = parse_since(since, now), parse_until(until, now)
    arms = read_arm_weights(weights)
    with given.opened(embeds=True) as client:
        found = client.quality.replay(since=begin, until=end, weights=arms or None, **options)
    none = NONE_SINCE if since or until else NO_SEARCH
    finish(found, as_json, show_replay, found=found.searches, otherwise=None if found.refused else none)


add_commands(
    quality,
    "report experiment miss replay",
    command(
        "experiment",
        QualityGroup.experiment,
        show_experiment,
        found=lambda shown: shown.refused is None,
        more="Set search.experiment to 1 to begin the first. Exit code 1 when nothing can be concluded.",
    ),
    of=QualityGroup,
)
