"""The command context."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, get_args

import click
from click.exceptions import Exit

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.invocation import DONE, NOTHING_FOUND, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import (
    TEXT,
    conversation_option,
    filter_options,
    json_option,
    no_log_option,
    now_option,
    plan_option,
    read_query,
    read_search_options,
    rerank_option,
    session_option,
)
from pgrecall.faces.cli.project_options import project_options
from pgrecall.faces.cli.rendering.console import notes, plain, print_json
from pgrecall.faces.printable import printable
from pgrecall.nouns.context.models import MIN_RELEVANCE, ContextBlock, Order

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_REASONS = {
    "over_budget": "over budget",
    "near_duplicate": "near-duplicate",
    "irrelevant": "hardly relevant",
    "quota": "over quota",
    "superseded": "superseded",
    "excluded": "excluded",
    "derived": "said by a summary or source",
}


@click.command("context")
@click.argument("query", help="Query; - reads it from standard input.")
@click.option("--budget", type=int, default=2000, help="Maximum number of tokens, 1 to 10,000,000.")
@click.option(
    "--layer-quota",
    "quotas",
    type=TEXT,
    multiple=True,
    metavar="LAYER=N",
    help="Maximum number of memories of this layer; may be repeated.",
)
@click.option(
    "--order", type=click.Choice(get_args(Order)), default="score", help="Best first, or oldest first."
)
@click.option("-k", type=int, default=50, metavar="N", help="Number of hits to choose from, 1 to 200.")
@click.option(
    "--lambda",
    "mmr_lambda",
    type=float,
    default=0.8,
    help="Weight of the score, 0 to 1; lower values prefer memories that differ from each other.",
)
@click.option(
    "--state",
    "state_share",
    type=float,
    metavar="SHARE",
    help="Share of the budget for what changed lately, 0 to 1; PGRECALL_CONTEXT_STATE by default.",
)
@filter_options
@click.option(
    "--min-relevance",
    type=float,
    default=MIN_RELEVANCE,
    show_default=True,
    help="Leave out memories of lower relevance, 0 to 1, except the best one.",
)
@click.option(
    "--nearest", is_flag=True, help="Show the nearest memories even if probably none answers the question."
)
@json_option
@now_option
@conversation_option
@plan_option
@rerank_option
@project_options
@session_option
@no_log_option
@pass_globals
def context(
    given: GlobalOptions,
    /,
    query: str,
    budget: int,
    quotas: tuple[str, ...],
    as_json: bool,
    nearest: bool,
    **options: Any,
) -> None:
    """Build one text for a prompt from the memories that answer a question, within a budget of tokens."""
    asked, per_layer = read_query(query), _layer_quotas(quotas)
    arguments = read_search_options(options)
    with given.opened(embeds=True) as memory:
        block = memory.context(
            asked, budget_tokens=budget, per_layer=per_layer, require_answer=not nearest, **arguments
        )
    if as_json:
        print_json({"query": asked, "budget_tokens": budget, **plain(block)})
    else:
        _show(block, budget)
    raise Exit(DONE if block.hits else NOTHING_FOUND)


def _show(block: ContextBlock, budget: int) -> None:
    """Prints only the text on standard output, ready to pipe into a prompt; the rest on standard error."""
    for step in block.skipped:
        notes().print(f"Skipped: {step}")
    if block.plan is not None:
        notes().print(f"Planned: {block.plan}.")
    if block.hits:
        click.echo(printable(block.text))
    notes().print(_summary(block, budget))


def _summary(block: ContextBlock, budget: int) -> str:
    if not (block.hits or block.left_out):
        return (
            "No memory answers this well; --nearest shows the nearest."
            if block.confidence
            else "Nothing was found."
        )
    found = len(block.hits) + len(block.left_out)
    shown = f"{block.tokens:,} of {budget:,} tokens, {len(block.hits):,} of {found:,} memories"
    reasons = Counter(_REASONS[one.reason] for one in block.left_out)
    left_out = "; ".join(f"{count:,} {reason}" for reason, count in reasons.items())
    search = f" Search {block.search_id}." if block.hits and block.search_id is not None else ""
    return (f"{shown}; left out: {left_out}." if left_out else f"{shown}.") + search


def _layer_quotas(given: tuple[str, ...]) -> dict[str, int]:
    """Quotas given as ``knowledge=3``; the last one of a layer counts."""
    quotas = {}
    for one in given:
        layer, _, number = one.rpartition("=")
        if not layer or _NUMBER.fullmatch(number) is None:
            raise InvalidInput(f"--layer-quota: {one!r} is not a quota.", hint="Write it as knowledge=3.")
        quotas[layer] = int(number)
    return quotas
