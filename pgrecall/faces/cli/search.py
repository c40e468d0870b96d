"""The command search."""

from __future__ import annotations

from datetime import datetime
from typing import Any, get_args

import click
from click.exceptions import Exit

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.console import notes, output, plain, print_json
from pgrecall.faces.cli.filters import filter_options, min_relevance_option, read_filters
from pgrecall.faces.cli.invocation import DONE, NOTHING_FOUND, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import (
    MOMENT,
    REFERENCE,
    TEXT,
    json_option,
    no_log_option,
    now_option,
    session_option,
)
from pgrecall.faces.cli.rendering.search import show_hits
from pgrecall.faces.cli.values import clock, read_query
from pgrecall.models.search import SearchResult, VitalityMode


@click.command("search")
@click.argument("query", default="", help="Question; - reads it from standard input. Optional with --since.")
@click.option(
    "--query",
    "-q",
    "queries",
    type=TEXT,
    multiple=True,
    help="Further query, searched at the same time; may be repeated.",
)
@click.option(
    "--cue",
    "cues",
    type=REFERENCE,
    multiple=True,
    help="Memory (id or key) from which activation spreads; may be repeated.",
)
@click.option("-k", type=click.IntRange(1, 1000), default=10, metavar="N", help="Maximum number of hits.")
@filter_options
@min_relevance_option
@click.option("--vitality-weight", type=float, help="Weight of vitality; by default the setting's, 0.5.")
@click.option(
    "--vitality-mode",
    type=click.Choice(get_args(VitalityMode)),
    help="How vitality changes the score; by default the profile decides.",
)
@click.option(
    "--profile", type=TEXT, help="Profile: balanced, identity, knowledge, episodic, activity, seed or rrf."
)
@click.option(
    "--weight",
    "weights",
    type=TEXT,
    multiple=True,
    metavar="ARM=N",
    help="Weight of an arm, 0 to 10; may be repeated.",
)
@click.option("--rerank", is_flag=True, help="Let the configured reranker reorder the best candidates.")
@click.option("--deadline", type=float, help="Seconds for the reranker; it stops with what it has by then.")
@click.option("--explain", is_flag=True, help="Explain the rank of each hit.")
@json_option
@now_option
@click.option("--as-of", type=MOMENT, help="Search what was known at this past time, ranked as it was then.")
@session_option
@no_log_option
@pass_globals
def search(
    given: GlobalOptions,
    /,
    query: str,
    weights: tuple[str, ...],
    explain: bool,
    as_json: bool,
    now: datetime | None,
    session: str | None,
    no_log: bool,
    queries: tuple[str, ...],
    cues: tuple[int | str, ...],
    k: int,
    vitality_weight: float | None,
    vitality_mode: VitalityMode | None,
    profile: str | None,
    rerank: bool,
    deadline: float | None,
    as_of: datetime | None,
    **filters: Any,
) -> None:
    """Search by meaning, words, names and links, weighted by the vitality of each memory."""
    asked, arms = read_query(query), _arm_weights(weights)
    narrowed = read_filters(filters, now or clock())
    with given.opened(embeds=True) as memory:
        result = memory.search(
            asked,
            k=k,
            **narrowed,
            vitality_weight=vitality_weight,
            vitality_mode=vitality_mode,
            now=now,
            queries=queries or None,
            cues=cues or None,
            as_of=as_of,
            profile=profile,
            weights=arms or None,
            rerank=rerank,
            deadline=deadline,
            session_id=session,
            log=not no_log,
        )
    if as_json:
        print_json(search_document(asked, result))
    else:
        _show(result, explain)
    raise Exit(DONE if result.hits else NOTHING_FOUND)


def search_document(query: str, result: SearchResult) -> dict[str, Any]:
    """The result of a search as JSON; its keys are part of the command line's interface."""
    return {
        "query": query,
        "no_match": result.no_match,
        "hits": plain(result.hits),
        "search_id": result.search_id,
        "reranked": result.reranked,
        "arms": plain(result.arms),
        "names": list(result.names),
        "skipped": list(result.skipped),
        "timings": plain(result.timings),
    }


def _show(result: SearchResult, explain: bool) -> None:
    for step in result.skipped:
        notes().print(f"Skipped: {step}")
    if result.hits:
        show_hits(output(), result, explain=explain)
        if explain:
            timings = ", ".join(f"{phase} {spent:.1f}" for phase, spent in result.timings.items())
            notes().print(f"Milliseconds: {timings}.")
        return
    notes().print("Nothing was found.")
    if any(result.arms.values()):
        counts = ", ".join(f"{arm} {count}" for arm, count in result.arms.items() if count)
        notes().print(f"Candidates that were not relevant enough: {counts}.")


def _arm_weights(given: tuple[str, ...]) -> dict[str, float]:
    """The weights of arms, given as ``ARM=N``."""
    weights: dict[str, float] = {}
    for one in given:
        arm, _, number = one.partition("=")
        try:
            weights[arm.strip()] = float(number)
        except ValueError:
            raise InvalidInput(
                f"--weight {one!r} is not an arm and a number.", hint="Write it as --weight lexical=0.5."
            ) from None
    return weights
