"""The command context."""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, get_args

import typer

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli_base import DONE, NOTHING_FOUND, globals_of, notes, output
from pgrecall.faces.documents import plain, to_text
from pgrecall.faces.snippets import printable
from pgrecall.faces.values import clock, parse_moment, parse_since, parse_until, question, text, texts
from pgrecall.models import ContextBlock, Order

Many = list[str] | None

_ORDERS: tuple[Order, ...] = get_args(Order)
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_REASONS = {
    "over_budget": "over budget",
    "near_duplicate": "near-duplicate",
    "quota": "over quota",
    "superseded": "superseded",
}


def context(
    command: typer.Context,
    query: Annotated[str, typer.Argument(help="The question; - reads it from standard input.")],
    budget: Annotated[int, typer.Option(help="Tokens the whole text may take, 1 to 10,000,000.")] = 2000,
    layer_quota: Annotated[
        Many, typer.Option(metavar="LAYER=N", help="At most N of this layer; may be repeated.")
    ] = None,
    order: Annotated[str, typer.Option(help="score: best first; time: oldest first.")] = "score",
    k: Annotated[int, typer.Option("-k", help="From how many memories to choose, 1 to 200.")] = 50,
    mmr_lambda: Annotated[
        float, typer.Option("--lambda", help="1: by score alone; less: more unlike each other.")
    ] = 0.8,
    layer: Annotated[Many, typer.Option(help="Only of this layer; may be repeated.")] = None,
    tag: Annotated[Many, typer.Option(help="Only with this tag; repeated: with all of them.")] = None,
    author: Annotated[Many, typer.Option(help="Only by this author; may be repeated.")] = None,
    role: Annotated[Many, typer.Option(help="Only of this role; may be repeated.")] = None,
    since: Annotated[str | None, typer.Option(help="From this date on, or 7d, 2w, 6m, 1y ago.")] = None,
    until: Annotated[str | None, typer.Option(help="Up to this date, the day included.")] = None,
    include_archived: Annotated[
        bool, typer.Option("--include-archived", help="Also what was archived or forgotten.")
    ] = False,
    include_superseded: Annotated[
        bool,
        typer.Option("--include-superseded", help="Also what a newer memory replaces, if that is not found."),
    ] = False,
    include_invalid: Annotated[
        bool, typer.Option("--include-invalid", help="Also what is not valid yet, or no more.")
    ] = False,
    min_relevance: Annotated[float, typer.Option(help="Leave out what is less relevant; 0 to 1.")] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    now: Annotated[str | None, typer.Option(help="Ask how it would be at this moment.")] = None,
    session: Annotated[str | None, typer.Option(help="The session in which the text is shown.")] = None,
    no_log: Annotated[bool, typer.Option("--no-log", help="Do not count what is shown.")] = False,
) -> None:
    """Write the memories that answer a question as one text for a prompt, within a budget of tokens."""
    asked, moment = question(query), parse_moment(now, "--now")
    reference = moment or clock()
    begin, end = parse_since(since, reference), parse_until(until, reference)
    quotas = _quotas(layer_quota or [])
    with globals_of(command).opened(embeds=True) as memory:
        block = memory.context(
            asked,
            budget_tokens=budget,
            per_layer=quotas,
            order=_order(order),
            mmr_lambda=mmr_lambda,
            k=k,
            layers=texts(layer, "--layer"),
            tags=texts(tag, "--tag"),
            authors=texts(author, "--author"),
            roles=texts(role, "--role"),
            since=begin,
            until=end,
            include_archived=include_archived,
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
    raise typer.Exit(DONE if block.hits else NOTHING_FOUND)


def _show(block: ContextBlock, budget: int) -> None:
    """The text alone on standard output, so that it can be piped into a prompt; the rest beside it."""
    for step in block.skipped:
        notes().print(f"Skipped: {printable(step)}")
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
