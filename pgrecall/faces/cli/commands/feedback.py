"""Commands about feedback: recording which memories of a search were used or rejected, and reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import click
from click.exceptions import Exit
from rich.table import Table

from pgrecall.errors import InvalidInput
from pgrecall.faces import wording
from pgrecall.faces.cli.invocation import (
    DONE,
    NOTHING_FOUND,
    CommandGroup,
    GlobalOptions,
    finish,
    pass_globals,
)
from pgrecall.faces.cli.options import (
    REFERENCE,
    REFERENCE_HELP,
    current_time,
    json_option,
    limit_option,
    now_option,
    parse_since,
    since_option,
)
from pgrecall.faces.cli.rendering.console import SafeConsole, notes, output, plain, table
from pgrecall.nouns.feedback.models import Feedback, JudgedSearch, MemoryFeedback, RankFeedback

SHOWN_RANKS = 20

search_argument = click.argument(
    "search", type=int, metavar="SEARCH_ID", help="Id of the search, as printed by search and context."
)
memories_argument = click.argument(
    "memories", type=REFERENCE, nargs=-1, required=True, metavar="ID_OR_KEY...", help=REFERENCE_HELP
)


@click.group("feedback", cls=CommandGroup)
def feedback() -> None:
    """Record which hits were used or rejected. Feedback changes vitality, and calibration uses it."""


@feedback.command("used")
@search_argument
@memories_argument
@now_option
@pass_globals
def used(given: GlobalOptions, search: int, memories: tuple[int | str, ...], now: datetime | None) -> None:
    """Record which memories of a search were used in an answer, which raises their vitality."""
    with given.opened() as client:
        new = client.used(search, memories, now=now)
    _report(new, len(set(memories)), "used")


@feedback.command("rejected")
@search_argument
@memories_argument
@now_option
@pass_globals
def rejected(
    given: GlobalOptions, search: int, memories: tuple[int | str, ...], now: datetime | None
) -> None:
    """Record which memories of a search did not answer it; the later of used and rejected counts."""
    with given.opened() as client:
        new = client.rejected(search, memories, now=now)
    _report(new, len(set(memories)), "rejected")


@feedback.command("report")
@limit_option(20, 10_000, "memories")
@click.option("--unused", is_flag=True, help="Show only memories that were shown but never used.")
@since_option
@json_option
@pass_globals
def report(given: GlobalOptions, limit: int, unused: bool, since: str | None, as_json: bool) -> None:
    """Show how often each memory and each rank was shown, used and rejected.

    Exit code 1 when nothing was shown.
    """
    begin = parse_since(since, current_time())
    with given.opened() as client:
        found = client.quality.feedback(limit=limit, unused=unused, since=begin)
    nothing = "No logged search showed any memory."
    finish(found, as_json, partial(show_feedback, unused=unused), found=found.ranks, otherwise=nothing)


@feedback.command("qrels")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="File to write.")
@since_option
@click.option("--judged-only", is_flag=True, help="Leave out memories that were skipped above a used one.")
@limit_option(10_000, 100_000, "searches, newest first")
@pass_globals
def qrels(given: GlobalOptions, out: Path | None, since: str | None, judged_only: bool, limit: int) -> None:
    """Write judged searches as JSON Lines, one for each search, as `pgrecall calibration fit` reads them.

    Exit code 1 when there are none.
    """
    begin = parse_since(since, current_time())
    with given.opened() as client:
        searches = client.quality.qrels(since=begin, skipped=not judged_only, limit=limit)
    lines = (f"{qrels_line(search)}\n" for search in searches)
    if out is None:
        for line in lines:
            click.echo(line, nl=False)
    else:
        _write(lines, out)
    judgements = sum(len(search.judgements) for search in searches)
    found = wording.counted(len(searches), "search", "searches")
    notes().print(f"{found}, {wording.counted(judgements, 'judgement')}.")
    raise Exit(DONE if searches else NOTHING_FOUND)


def qrels_line(search: JudgedSearch) -> str:
    """One search as one line of JSON; its keys are part of the interface."""
    return json.dumps(plain(search), ensure_ascii=False)


def _report(new: int, named: int, verdict: str) -> None:
    known = f" {named - new:,} known before." if named > new else ""
    output().print(f"{new:,} {verdict}.{known}")


def _write(lines: Iterable[str], file: Path) -> None:
    try:
        with file.open("w", encoding="utf-8") as opened:
            opened.writelines(lines)
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}.", hint="Name another file with --out."
        ) from error


def show_feedback(console: SafeConsole, found: Feedback, *, unused: bool) -> None:
    """A table of memories and one of ranks."""
    if found.memories:
        console.print(_memories(found.memories))
    elif unused:
        console.print("Every memory that was shown was used at least once.")
    console.print()
    console.print(_ranks(found.ranks[:SHOWN_RANKS]))
    if len(found.ranks) > SHOWN_RANKS:
        console.print(f"and {len(found.ranks) - SHOWN_RANKS:,} more ranks (pgrecall feedback report --json)")
    if not any(rank.judged for rank in found.ranks):
        console.print("No search has been judged yet: pgrecall feedback used SEARCH_ID ID_OR_KEY...")


def _memories(memories: Sequence[MemoryFeedback]) -> Table:
    rows = _table("id", "memory", "layer", "shown", "used", "rejected", "last shown")
    for memory in memories:
        counts = (f"{count:,}" for count in (memory.shown, memory.used, memory.rejected))
        name = wording.named(memory.title, memory.key, memory.id, 60)
        last = wording.moment(memory.last_shown_at)
        rows.add_row(str(memory.id), name, memory.layer, *counts, last)
    return rows


def _ranks(ranks: Sequence[RankFeedback]) -> Table:
    rows = _table("rank", "shown", "judged", "used", "rejected", "use rate", "propensity")
    for rank in ranks:
        counts = (f"{count:,}" for count in (rank.shown, rank.judged, rank.used, rank.rejected))
        rate = "" if rank.use_rate is None else f"{rank.use_rate:.3f}"
        rows.add_row(str(rank.rank), *counts, rate, f"{rank.propensity:.3f}")
    return rows


def _table(*columns: str) -> Table:
    return table(*columns, right=set(columns) - {"memory", "layer", "last shown"})
