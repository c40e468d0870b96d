"""One memory and the outcome of an import, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from pgrecall.faces.cli.folding import Piece
from pgrecall.faces.cli.rendering.search import ZONE_STYLES, name_of, vitality_bar
from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.terminal import Terminal
from pgrecall.models.imports import ImportReport, Problem
from pgrecall.models.memories import Link, StoredMemory
from pgrecall.search.explanation import activation_terms

SHOWN_KEYS = 10
SHOWN_PROBLEMS = 20


def show_memory(terminal: Terminal, memory: StoredMemory) -> None:
    """Everything that is stored of it."""
    terminal.print((name_of(memory.title, memory.key, memory.id), "bold"))
    terminal.show(_fields(memory, unicode=terminal.unicode))
    if memory.body:
        terminal.print()
        terminal.print(memory.body)


def show_import(terminal: Terminal, report: ImportReport) -> None:
    """What was stored, what is gone from the source, and what could not be used."""
    terminal.print(
        f"{report.created:,} created, {report.updated:,} updated, {report.unchanged:,} unchanged; "
        f"{report.links_pending:,} links wait for their target.",
        soft_wrap=True,
    )
    if report.removed:
        more = len(report.removed) - SHOWN_KEYS
        terminal.print(
            f"{len(report.removed):,} memories of this source are no longer in it; they are kept, "
            "`pgrecall forget` archives them:",
            soft_wrap=True,
        )
        for key in report.removed[:SHOWN_KEYS]:
            terminal.print(f"  {key}", soft_wrap=True)
        if more > 0:
            terminal.print(f"  and {more:,} more")
    show_problems(terminal, report.problems)


def show_problems(terminal: Terminal, problems: Sequence[Problem]) -> None:
    """What could not be used: where, and why."""
    if not problems:
        return
    terminal.print(f"{len(problems):,} could not be used:" if len(problems) > 1 else "1 could not be used:")
    for problem in problems[:SHOWN_PROBLEMS]:
        terminal.print(f"  {problem.where}: {problem.reason}", soft_wrap=True)
    if len(problems) > SHOWN_PROBLEMS:
        terminal.print(f"  and {len(problems) - SHOWN_PROBLEMS:,} more")


def _fields(memory: StoredMemory, *, unicode: bool) -> Table:
    fields = Table("name", "value", headed=False)
    for name, value in _values(memory):
        fields.add_row((name, "cyan"), value)
    zone = memory.vitality.zone
    bar = vitality_bar(memory.vitality.vitality, zone, unicode=unicode)
    fields.add_row(("vitality", "cyan"), [*bar, (f" {zone}", ZONE_STYLES.get(zone, ""))])
    fields.add_row("", (activation_terms(asdict(memory.vitality)), "dim"))
    for name, link in zip(["links"] + [""] * len(memory.links), memory.links, strict=False):
        fields.add_row((name, "cyan"), _link(link))
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


def _link(link: Link) -> list[Piece]:
    arrow = "→" if link.outgoing else "←"
    name = name_of(link.other_title, link.other_key, link.other)
    return [(f"{arrow} {link.relation.replace('_', ' ')} ", ""), (name, "bold"), (f" ({link.other})", "")]
