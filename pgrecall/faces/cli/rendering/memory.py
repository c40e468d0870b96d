"""Lists of memories, one memory, and the outcome of an import, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from rich.table import Table
from rich.text import Text

from pgrecall.faces.cli.console import SafeConsole, styled, table
from pgrecall.faces.cli.rendering.search import name_of, vitality_bar, zone_text
from pgrecall.faces.cli.rendering.snippets import snippet
from pgrecall.models.import_export import ImportReport, Problem
from pgrecall.models.memories import Link, ListedMemory, StoredMemory
from pgrecall.search.explanation import activation_terms

SHOWN_KEYS = 10
SHOWN_PROBLEMS = 20


def show_list(console: SafeConsole, page: Sequence[ListedMemory]) -> None:
    """A table of memories."""
    rows = table("id", "happened", "vitality", "layer", "memory", right=("id",))
    for memory in page:
        bar = vitality_bar(memory.vitality, memory.zone, unicode=console.unicode)
        name = name_of(memory.title or snippet(memory.body, {}, 80)[0], memory.key, memory.id)
        description = styled((name, "bold"), (f" {memory.key}" if memory.key else "", "cyan"))
        vitality = Text(" ").join([bar, zone_text(memory.zone)])
        rows.add_row(str(memory.id), f"{memory.happened_at:%Y-%m-%d}", vitality, memory.layer, description)
    console.print(rows)


def show_memory(console: SafeConsole, memory: StoredMemory) -> None:
    """All fields of a memory, its vitality and links, then its text."""
    console.print(styled((name_of(memory.title, memory.key, memory.id), "bold")))
    console.print(_fields(memory, unicode=console.unicode))
    if memory.body:
        console.print()
        console.print(memory.body, soft_wrap=False)


def show_import(console: SafeConsole, report: ImportReport) -> None:
    """The outcome of an import: stored memories, keys gone from the source, and problems."""
    console.print(
        f"{report.created:,} created, {report.updated:,} updated, {report.unchanged:,} unchanged; "
        f"{report.links_pending:,} links without a target yet.",
    )
    if report.removed:
        more = len(report.removed) - SHOWN_KEYS
        console.print(
            f"{len(report.removed):,} memories of this source are no longer in it; they are kept, "
            "`pgrecall forget` archives them:",
        )
        for key in report.removed[:SHOWN_KEYS]:
            console.print(f"  {key}")
        if more > 0:
            console.print(f"  and {more:,} more")
    show_problems(console, report.problems)


def show_problems(console: SafeConsole, problems: Sequence[Problem]) -> None:
    """Items that could not be used: where, and the reason."""
    if not problems:
        return
    console.print(f"{len(problems):,} could not be used:" if len(problems) > 1 else "1 could not be used:")
    for problem in problems[:SHOWN_PROBLEMS]:
        console.print(f"  {problem.where}: {problem.reason}")
    if len(problems) > SHOWN_PROBLEMS:
        console.print(f"  and {len(problems) - SHOWN_PROBLEMS:,} more")


def _fields(memory: StoredMemory, *, unicode: bool) -> Table:
    fields = table("name", "value", header=False)
    fields.columns[0].no_wrap = True
    for name, value in _values(memory):
        fields.add_row(styled((name, "cyan")), value)
    zone = memory.vitality.zone
    bar = vitality_bar(memory.vitality.vitality, zone, unicode=unicode)
    fields.add_row(styled(("vitality", "cyan")), Text(" ").join([bar, zone_text(zone)]))
    fields.add_row("", styled((activation_terms(asdict(memory.vitality)), "dim")))
    for name, link in zip(["links"] + [""] * len(memory.links), memory.links, strict=False):
        fields.add_row(styled((name, "cyan")), _link(link))
    return fields


def _values(memory: StoredMemory) -> Iterator[tuple[str, str]]:
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
    return styled(f"{arrow} {link.relation.replace('_', ' ')} ", (name, "bold"), f" ({link.other})")
