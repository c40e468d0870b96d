"""One memory and the outcome of an import, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pgrecall.faces.render import ZONE_STYLES, name_of, vitality_bar
from pgrecall.faces.snippets import printable
from pgrecall.models import ImportReport, Link, Problem, StoredMemory
from pgrecall.search.explain import activation_terms

SHOWN_KEYS = 10
SHOWN_PROBLEMS = 20


def show_memory(console: Console, memory: StoredMemory) -> None:
    """Everything that is stored of it."""
    console.print(Text(name_of(memory.title, memory.key, memory.id), style="bold"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in _fields(memory):
        grid.add_row(name, Text(printable(value)))
    unicode = console.encoding.lower().startswith("utf")
    bar = vitality_bar(memory.vitality.vitality, memory.vitality.zone, unicode=unicode)
    zone = memory.vitality.zone
    grid.add_row("vitality", bar.append(f" {zone}", style=ZONE_STYLES.get(zone, "")))
    grid.add_row("", Text(activation_terms(asdict(memory.vitality)), style="dim"))
    for name, link in zip(["links"] + [""] * len(memory.links), memory.links, strict=False):
        grid.add_row(name, _link(link))
    console.print(grid)
    if memory.body:
        console.print()
        console.print(Text(printable(memory.body)))


def show_import(console: Console, report: ImportReport) -> None:
    """What was stored, what is gone from the source, and what could not be used."""
    console.print(
        f"{report.created:,} created, {report.updated:,} updated, {report.unchanged:,} unchanged; "
        f"{report.links_pending:,} links wait for their target.",
        soft_wrap=True,
    )
    if report.removed:
        more = len(report.removed) - SHOWN_KEYS
        console.print(
            f"{len(report.removed):,} memories of this source are no longer in it; they are kept, "
            "`pgrecall forget` archives them:",
            soft_wrap=True,
        )
        for key in report.removed[:SHOWN_KEYS]:
            console.print(f"  {printable(key)}", soft_wrap=True)
        if more > 0:
            console.print(f"  and {more:,} more")
    show_problems(console, report.problems)


def show_problems(console: Console, problems: Sequence[Problem]) -> None:
    """What could not be used: where, and why."""
    if not problems:
        return
    console.print(f"{len(problems):,} could not be used:" if len(problems) > 1 else "1 could not be used:")
    for problem in problems[:SHOWN_PROBLEMS]:
        console.print(f"  {printable(problem.where)}: {printable(problem.reason)}", soft_wrap=True)
    if len(problems) > SHOWN_PROBLEMS:
        console.print(f"  and {len(problems) - SHOWN_PROBLEMS:,} more")


def _fields(memory: StoredMemory) -> Iterator[tuple[str, str]]:
    skipped = ("title", "body", "vitality", "links")
    for name in memory.__slots__:
        value = getattr(memory, name)
        if name in skipped or value in (None, (), "", False) or (name == "metadata" and not value):
            continue
        if isinstance(value, datetime):
            value = f"{value:%Y-%m-%d %H:%M:%S %Z}"
        elif isinstance(value, tuple):
            value = ", ".join(value)
        yield name.replace("_", " "), "yes" if value is True else str(value)


def _link(link: Link) -> Text:
    arrow = "→" if link.outgoing else "←"
    name = name_of(link.other_title, link.other_key, link.other)
    return Text.assemble(f"{arrow} {link.relation.replace('_', ' ')} ", (name, "bold"), f" ({link.other})")
