"""Commands about erasures: plan, show, apply, list, drop."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

import click
from click.exceptions import Exit
from rich.table import Table

from pgrecall.errors import InvalidInput
from pgrecall.faces import wording
from pgrecall.faces.cli.declared_commands import add_commands, command
from pgrecall.faces.cli.invocation import (
    DONE,
    NOTHING_FOUND,
    CommandGroup,
    GlobalOptions,
    pass_globals,
)
from pgrecall.faces.cli.options import TEXT, json_option, now_option
from pgrecall.faces.cli.rendering.console import Progress, SafeConsole, output, print_json, table
from pgrecall.nouns.erasure._sync import ErasureGroup
from pgrecall.nouns.erasure.models import Erasure, ErasureReport, ErasureSummary, Subject

_number = {"erasure": "Id of the erasure, as in `pgrecall erasure list`."}


@click.group("erasure", cls=CommandGroup)
def erasure() -> None:
    """Delete all memories of a subject for good, by a plan that you review, with a report."""


@erasure.command("plan")
@click.option("--author", type=TEXT, help="Memories of this author.")
@click.option("--session", type=TEXT, help="Memories of this session.")
@click.option("--tag", type=TEXT, help="Memories with this tag.")
@click.option("--source", type=TEXT, help="Memories from this source.")
@click.option("--key", type=TEXT, help="Memories with this key; * stands for any characters.")
@click.option("--asked-by", type=TEXT, required=True, help="Person who asked for the erasure.")
@json_option
@now_option
@pass_globals
def plan(
    given: GlobalOptions,
    author: str | None,
    session: str | None,
    tag: str | None,
    source: str | None,
    key: str | None,
    asked_by: str,
    as_json: bool,
    now: datetime | None,
) -> None:
    """Plan which memories to delete: those that match all given options. Nothing is deleted yet.

    Exit code 1 when there are none.
    """
    with given.opened() as memory:
        made = memory.erasure.plan(
            author=author, session=session, tag=tag, source=source, key=key, asked_by=asked_by, now=now
        )
    _show(made, as_json)
    raise Exit(DONE if made.planned else NOTHING_FOUND)


@erasure.command("apply")
@click.argument("number", type=int, metavar="ERASURE", help=_number["erasure"])
@click.option("--signed-by", type=TEXT, required=True, help="Person who is responsible for the erasure.")
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@json_option
@now_option
@pass_globals
def apply(
    given: GlobalOptions, number: int, signed_by: str, yes: bool, as_json: bool, now: datetime | None
) -> None:
    """Delete the memories of an erasure for good, and show the report. Repeat it after an interruption."""
    with given.opened() as memory:
        found = memory.erasure.get(number, sample=0)
        if found.state != "done" and not yes:
            _confirm(found)
        with Progress("erasing", "memories", found.remaining) as bar:
            done = memory.erasure.apply(
                number,
                signed_by=signed_by,
                progress=lambda remaining: bar.reached(found.remaining - remaining),
                now=now,
            )
    _show(done, as_json)


def _confirm(found: Erasure) -> None:
    question = f"Delete {wording.counted(found.remaining, 'memory', 'memories')} for good?"
    if not (sys.stderr.isatty() and click.confirm(question, err=True)):
        raise InvalidInput("Nothing was deleted.", hint="Confirm with --yes.")


def _show_list(console: SafeConsole, erasures: Sequence[ErasureSummary]) -> None:
    rows = table("id", "state", "subject", "asked by", "planned on", "memories", "remaining")
    for one in erasures:
        rows.add_row(
            str(one.id), one.state, _subject(one.subject), one.asked_by, wording.moment(one.created_at),
            f"{one.planned:,}", f"{one.remaining:,}",
        )  # fmt: skip
    console.print(rows)


def _show(found: Erasure, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        _show_erasure(output(), found)


def _show_erasure(console: SafeConsole, found: Erasure) -> None:
    console.print(
        f"Erasure {found.id} of {_subject(found.subject)}, asked for by {found.asked_by}, "
        f"planned on {wording.moment(found.created_at)}: {found.state}."
    )
    if found.report is not None:
        _show_report(console, found.report)
        console.print(f"Digest of the report: {found.digest}")
        if not found.intact:
            console.print("The stored report was changed: it does not have this digest.", style="red")
        return
    planned = wording.counted(found.planned, "memory", "memories")
    console.print(f"{planned} planned, {found.remaining:,} still there.")
    if found.counts:
        console.print(_counts(found))
    for one in found.sample:
        console.print(f"  {one.id} {one.key or one.title}")
    console.print(f"Delete them for good: pgrecall erasure apply {found.id} --signed-by NAME")


def _counts(found: Erasure) -> Table:
    rows = table("table", "rows" if found.state == "planned" else "rows deleted")
    for name, count in sorted(found.counts.items()):
        rows.add_row(name, f"{count:,}")
    return rows


def _show_report(console: SafeConsole, report: ErasureReport) -> None:
    console.print(
        f"{wording.counted(report.memories, 'memory', 'memories')} deleted, signed by {report.signed_by} "
        f"on {wording.moment(report.done_at)}."
    )
    if report.arrived_since:
        came = wording.counted(report.arrived_since, "memory", "memories")
        console.print(f"{came} of the subject were added since; plan another erasure.")
    rows = table("table", "rows deleted", "left", "indexes")
    for one in report.tables:
        rows.add_row(one.table, f"{one.rows:,}", f"{one.left:,}", str(len(one.indexes)))
    console.print(rows)
    console.print("Places that may still have the texts:")
    for place in report.remains:
        console.print(f"  {place.place}: {place.what} Until: {place.until}")


def _subject(subject: Subject) -> str:
    given = {name: getattr(subject, name) for name in ("author", "session", "tag", "source", "key")}
    return ", ".join(f"{name} {text}" for name, text in given.items() if text is not None)


add_commands(
    erasure,
    "plan show apply list drop",
    command("show", ErasureGroup.get, _show_erasure, helps=_number),
    command(
        "list",
        ErasureGroup.list,
        _show_list,
        otherwise="There are no erasures yet. Plan one: pgrecall erasure plan --author NAME --asked-by NAME",
        more="Exit code 1 when there are none.",
    ),
    command(
        "drop",
        ErasureGroup.drop,
        "The plan of erasure {erasure} is removed; its memories stay.",
        helps=_number,
    ),
    of=ErasureGroup,
)
