"""The command context."""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, get_args

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.base import DONE, NOTHING_FOUND, AsJson, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, Context, Exit, Option
from pgrecall.faces.cli.filters import NONE, Filters, InvalidToo, LeastRelevance, Many
from pgrecall.faces.cli.json_output import plain, to_text
from pgrecall.faces.cli.rendering.snippets import printable
from pgrecall.faces.cli.values import clock, parse_moment, question, text
from pgrecall.models.context import ContextBlock, Order

_ORDERS: tuple[Order, ...] = get_args(Order)
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_REASONS = {
    "over_budget": "over budget",
    "near_duplicate": "near-duplicate",
    "quota": "over quota",
    "superseded": "superseded",
}


def context(
    command: Context,
    query: Annotated[str, Argument(help="The question; - reads it from standard input.")],
    budget: Annotated[int, Option(help="Tokens the whole text may take, 1 to 10,000,000.")] = 2000,
    layer_quota: Annotated[
        Many, Option(metavar="LAYER=N", help="At most N of this layer; may be repeated.")
    ] = None,
    order: Annotated[str, Option(help="score: best first; time: oldest first.")] = "score",
    k: Annotated[int, Option("-k", help="From how many memories to choose, 1 to 200.")] = 50,
    mmr_lambda: Annotated[
        float, Option("--lambda", help="1: by score alone; less: more unlike each other.")
    ] = 0.8,
    filters: Filters = NONE,
    include_superseded: Annotated[
        bool,
        Option("--include-superseded", help="Also what a newer memory replaces, if that is not found."),
    ] = False,
    include_invalid: InvalidToo = False,
    min_relevance: LeastRelevance = 0.0,
    as_json: AsJson = False,
    now: Annotated[str | None, Option(help="Ask how it would be at this moment.")] = None,
    session: Annotated[str | None, Option(help="The session in which the text is shown.")] = None,
    no_log: Annotated[bool, Option("--no-log", help="Do not count what is shown.")] = False,
) -> None:
    """Write the memories that answer a question as one text for a prompt, within a budget of tokens."""
    asked, moment = question(query), parse_moment(now, "--now")
    narrowed = filters.read(moment or clock())
    quotas = _quotas(layer_quota or [])
    with globals_of(command).opened(embeds=True) as memory:
        block = memory.context(
            asked,
            budget_tokens=budget,
            per_layer=quotas,
            order=_order(order),
            mmr_lambda=mmr_lambda,
            k=k,
            **narrowed,
            include_superseded=include_superseded,
            include_invalid=include_invalid,
            min_relevance=min_relevance,
            now=moment,
            session_id=None if session is None else text(session, "--session"),
            log=not no_log,
        )
    if as_json:
        output().out(to_text({"query": asked, "budget_tokens": budget, **plain(block)}))
    else:
        _show(block, budget)
    raise Exit(DONE if block.hits else NOTHING_FOUND)


def _show(block: ContextBlock, budget: int) -> None:
    """The text alone on standard output, so that it can be piped into a prompt; the rest beside it."""
    for step in block.skipped:
        notes().print(f"Skipped: {step}")
    if block.hits:
        output().out(printable(block.text))
    notes().print(_summary(block, budget))


def _summary(block: ContextBlock, budget: int) -> str:
    if not (block.hits or block.left_out):
        return "Nothing was found."
    reasons = Counter(_REASONS[one.reason] for one in block.left_out)
    told = "; ".join(f"{count:,} {reason}" for reason, count in reasons.items())
    shown = f"{block.tokens:,} of {budget:,} tokens, {len(block.hits):,} of {_found(block):,} memories"
    number = f" Search {block.search_id}." if block.hits and block.search_id is not None else ""
    return (f"{shown}; left out: {told}." if told else f"{shown}.") + number


def _found(block: ContextBlock) -> int:
    return len(block.hits) + len(block.left_out)


def _quotas(given: list[str]) -> dict[str, int]:
    """``knowledge=3`` and the like; the last word on a layer counts."""
    quotas = {}
    for one in given:
        layer, _, number = text(one, "--layer-quota").rpartition("=")
        if not layer or _NUMBER.fullmatch(number) is None:
            raise InvalidInput(f"--layer-quota: {one!r} is no quota.", hint="Write it as knowledge=3.")
        quotas[layer] = int(number)
    return quotas


def _order(given: str) -> Order:
    for order in _ORDERS:
        if given == order:
            return order
    raise InvalidInput(f"There is no order {given!r}.", hint=f"Use one of {', '.join(_ORDERS)}.")
