"""The outcome of an import: what was stored, left out or assumed, and what could not be used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pgrecall.errors import InvalidInput
from pgrecall.faces import wording
from pgrecall.faces.cli.rendering.console import SafeConsole, notes, say_more, table
from pgrecall.faces.printable import printable
from pgrecall.nouns.imports.models import ImportSummary, ImportUndone
from pgrecall.nouns.imports.report import ImportReport, Problem
from pgrecall.nouns.status.models import Status

SHOWN_KEYS = 10
SHOWN_PROBLEMS = 20


def show_import(console: SafeConsole, report: ImportReport) -> None:
    """The outcome of an import: stored memories, keys gone from the source, and problems."""
    console.print(
        f"{report.created:,} created, {report.updated:,} updated, {report.unchanged:,} unchanged; "
        f"{wording.counted(report.links_pending, 'link')} without a target yet"
        f"{' in all memories' if report.links_pending else ''}.",
    )
    if report.removed:
        more = len(report.removed) - SHOWN_KEYS
        console.print(
            f"{len(report.removed):,} memories of this source are no longer in it; they are kept. "
            "With a folder of notes, --archive-removed archives them:",
        )
        for key in report.removed[:SHOWN_KEYS]:
            console.print(f"  {key}")
        if more > 0:
            console.print(f"  and {more:,} more")
    if report.skipped:
        console.print("Left out, or completed by assumption:")
        for left_out in report.skipped:
            first = f", first in {left_out.places[0]}" if left_out.places else ""
            console.print(f"  {left_out.what}: {left_out.count:,}{first}")
    show_problems(console, report.problems, "; --problems FILE writes all of them")


def show_imports(console: SafeConsole, imports: Sequence[ImportSummary]) -> None:
    """A table of imports."""
    counts = ("created", "changed", "archived")
    rows = table("id", "source", "started", "state", *counts, right=counts)
    for one in imports:
        numbers = (f"{number:,}" for number in (one.created, one.changed, one.archived))
        state = "done" if one.undone_at is None else "undone"
        rows.add_row(str(one.id), one.source, wording.moment(one.started_at), state, *numbers)
    console.print(rows)


def show_undone_import(console: SafeConsole, undone: ImportUndone) -> None:
    """What undoing an import did, and what was kept."""
    counts = {
        "deleted": undone.deleted, "archived": undone.archived, "given back": undone.given_back,
        "restored": undone.restored,
    }  # fmt: skip
    done = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "nothing to change"
    console.print(f"Import {undone.id} of {undone.source} is undone: {done}.")
    for kept in undone.kept[:SHOWN_PROBLEMS]:
        console.print(f"  {wording.named(kept.title, kept.key, kept.id)}: {kept.note}")
    say_more(console, len(undone.kept) - SHOWN_PROBLEMS, "all of them with --json")
    if undone.given_back:
        notes().print("Their vectors are made by a worker, or by `pgrecall jobs run embed`.")


def tell_renamed(count: int) -> None:
    """Says how many memories have a new key, if any."""
    if count:
        kept = wording.counted(count, "memory has", "memories have")
        notes().print(f"{kept} a new key, because notes were renamed.")


def dormant_hint(status: Status) -> str | None:
    """Why most memories are dormant after the first import; None if they are not, or if some were used."""
    dormant = sum(layer.zones.get("dormant", 0) for layer in status.layers)
    if status.access_counts.shown + status.access_counts.used or 2 * dormant <= status.memories:
        return None
    stored = wording.counted(status.memories, "memory", "memories")
    return (
        f"Of {stored}, {dormant:,} are dormant: they are old, "
        "and nobody has searched here yet. Each use raises them."
    )


def write_problems(path: Path, report: ImportReport) -> None:
    """Writes every problem, then every notice with a place, as one line each."""
    lines = [f"{problem.where}: {problem.reason}" for problem in report.problems]
    lines += [f"{place}: {left_out.what}" for left_out in report.skipped for place in left_out.places]
    lines = [" ".join(printable(line).splitlines()) for line in lines]  # of names of files too
    try:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror}.", hint="The import is done; name another file."
        ) from error


def show_problems(console: SafeConsole, problems: Sequence[Problem], more: str = "") -> None:
    """Items that could not be used: where, and the reason. ``more`` says how to see those not shown."""
    if not problems:
        return
    console.print(f"{len(problems):,} could not be used:" if len(problems) > 1 else "1 could not be used:")
    for problem in problems[:SHOWN_PROBLEMS]:
        console.print(f"  {problem.where}: {problem.reason}")
    if len(problems) > SHOWN_PROBLEMS:
        console.print(f"  and {len(problems) - SHOWN_PROBLEMS:,} more{more}")
