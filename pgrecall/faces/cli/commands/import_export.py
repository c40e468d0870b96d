"""The command import: notes, records and chats; an export is left to its own module."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import click
from click.exceptions import Exit

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.faces import wording
from pgrecall.faces.cli.commands.export import import_export
from pgrecall.faces.cli.commands.imports import ImportCommand
from pgrecall.faces.cli.invocation import (
    BAD_INPUT,
    DONE,
    INCOMPLETE,
    INTERRUPTED,
    NOTHING_FOUND,
    GlobalOptions,
    pass_globals,
)
from pgrecall.faces.cli.options import STREAM, TEXT, json_option, now_option
from pgrecall.faces.cli.project_options import PROJECT
from pgrecall.faces.cli.rendering.console import Progress, notes, output, print_json
from pgrecall.faces.cli.rendering.imports import (
    dormant_hint,
    show_import,
    tell_renamed,
    write_problems,
)
from pgrecall.faces.import_rules import import_rules, in_projects
from pgrecall.faces.note_folder import Items, NoteFolder, settle
from pgrecall.importers.detect import (
    BY_SESSION,
    KnownKind,
    count_items,
    known_kind,
    open_source,
    source_name,
)  # fmt: skip
from pgrecall.importers.fields import Keep
from pgrecall.nouns.export.file import is_export
from pgrecall.nouns.imports.report import ImportReport, Problem, Skipped
from pgrecall.nouns.memories.models import Draft

Kind = Literal[
    "auto", "markdown", "jsonl", "chat", "chatgpt", "claude", "claude-code", "codex", "cursor", "gemini",
    "vscode", "mem0", "hindsight", "export",
]  # fmt: skip

_UNITS = {"markdown": "notes", "jsonl": "records", "mem0": "memories", "hindsight": "facts"}
"""What a source has; chats have turns."""


@dataclass(frozen=True, slots=True)
class _Archives:
    """Whether memories whose notes are gone are archived, and even if they are more than half."""

    removed: bool
    most: bool


class _Source(click.Path):
    """A path that is not empty: that of a variable without a value would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            raise InvalidInput("PATH is empty.", hint="Name a folder or a file; . is the current folder.")
        return super().convert(value, param, ctx)


@click.command("import", cls=ImportCommand)
@click.argument(
    "path",
    type=_Source(path_type=Path),
    metavar="PATH",
    help="Folder of notes or sessions, or a .md, .jsonl, .json or .zip file; - reads an export of pgrecall "
    "from standard input.",
)
@click.option(
    "--kind", "--format", type=click.Choice(get_args(Kind)), default="auto", help="Kind of the source."
)
@click.option("--layer", help="Layer of notes and turns without one.")
@click.option("--source", type=TEXT, help="Name to remember the import by; by default the path.")
@click.option("--prefix", default="", help="Prefix of every key.")
@click.option("--tools", is_flag=True, help="With chats: keep tool calls, their results and sub-agents.")
@click.option("--keep-secrets", is_flag=True, help="With chats: keep passwords, keys and tokens.")
@click.option("--project", type=PROJECT, help="With chats: project of sessions that name no folder.")
@click.option(
    "--problems", "problems_file", type=click.Path(path_type=Path, dir_okay=False),
    help="Write every problem and notice to this file, one a line.",
)  # fmt: skip
@json_option
@click.option("--strict", is_flag=True, help="Stop at the first problem.")
@click.option("--follow-links", is_flag=True, help="Follow symbolic links that lead out of the folder.")
@click.option(
    "--embeddings/--no-embeddings", default=True, help="With an export: import its embeddings, or omit them."
)
@click.option("--watch", is_flag=True, help="Import a folder of notes, then its changes, until Ctrl-C.")
@click.option(
    "--archive-removed", is_flag=True, help="Archive memories whose notes are gone from the folder."
)
@click.option(
    "--archive-most",
    is_flag=True,
    help="With --watch or --archive-removed: archive even if more than half of the notes are gone at once.",
)
@now_option
@pass_globals
def import_(
    given: GlobalOptions,
    path: Path,
    kind: Kind,
    layer: str | None,
    source: str | None,
    prefix: str,
    tools: bool,
    keep_secrets: bool,
    project: str | None,
    problems_file: Path | None,
    as_json: bool,
    strict: bool,
    follow_links: bool,
    embeddings: bool,
    watch: bool,
    archive_removed: bool,
    archive_most: bool,
    now: datetime | None,
) -> None:
    """Import memories. A second import updates what has changed and leaves the rest.

    Every batch is committed on its own, so Ctrl-C loses nothing that was reported, and a second import
    completes the work. An export is imported whole or not at all, into an empty tenant.

    Exit code 4 when some of it could not be used and the rest is stored.
    """
    if kind == "export" or path == STREAM or (kind == "auto" and path.is_file() and is_export(path)):
        _refuse_options(kind, {
            "--layer": layer, "--source": source, "--prefix": prefix, "--tools": tools, "--strict": strict,
            "--keep-secrets": keep_secrets, "--project": project, "--follow-links": follow_links,
            "--problems": problems_file, "--json": as_json, "--watch": watch, "--now": now,
            "--archive-removed": archive_removed, "--archive-most": archive_most,
        })  # fmt: skip
        return import_export(given, path, embeddings=embeddings)
    wanted = known_kind(path, kind)
    name = source if source is not None else source_name(path, wanted)
    read = in_projects(partial(
        open_source, path, kind=kind, source=name, prefix=prefix, layer=layer,
        keep=Keep(tools, keep_secrets), follow_links=follow_links,
    ), wanted, project)  # fmt: skip
    folder = NoteFolder(path.resolve(), name, prefix, follow_links)
    if watch:
        from pgrecall.faces.cli.watching import refuse_with_watch, watch_notes

        refuse_with_watch(path, wanted, {
            "--json": as_json, "--problems": problems_file, "--strict": strict, "--now": now,
        })  # fmt: skip
        return watch_notes(given, folder, read, layer, archive_most=archive_most)
    archives = _archives(path, wanted, removed=archive_removed, most=archive_most)
    total = _count(path, wanted, follow_links, read)
    report, hint = _import_drafts(given, read, wanted, folder, total, strict, layer, archives, now)
    _show(report, hint, as_json, problems_file)
    raise Exit(_exit_code(report, path))


def _archives(path: Path, kind: KnownKind, *, removed: bool, most: bool) -> _Archives | None:
    """What is archived of a folder of notes; None for other sources, which cannot tell what is gone."""
    is_folder = kind == "markdown" and path.is_dir()
    if removed and not is_folder:
        raise InvalidInput(
            f"--archive-removed needs a folder of notes, which {path} is not.", hint="Leave it out."
        )
    if most and not removed:
        raise InvalidInput(
            "--archive-most goes with --watch or --archive-removed.",
            hint="Give one of them, or leave it out.",
        )
    return _Archives(removed, most) if is_folder else None


def _count(path: Path, kind: KnownKind, follow_links: bool, read: Callable[[], Items]) -> int | None:
    """The items of a source. Reading costs little next to embedding, so a chat is read twice."""
    if kind in ("jsonl", "markdown"):
        return count_items(path, kind, follow_links=follow_links)
    return sum(1 for item in read() if not isinstance(item, Skipped))


def _show(report: ImportReport, hint: str | None, as_json: bool, problems_file: Path | None) -> None:
    if problems_file is not None:
        write_problems(problems_file, report)
    if as_json:
        print_json(report)
    else:
        show_import(output(), report)
    if hint is not None:
        notes().print(hint)


def _import_drafts(
    given: GlobalOptions,
    read: Callable[..., Items],
    kind: KnownKind,
    folder: NoteFolder,
    total: int | None,
    strict: bool,
    layer: str | None,
    archives: _Archives | None,
    now: datetime | None,
) -> tuple[ImportReport, str | None]:
    """Stores the drafts of a source, with their progress; the report, and what a newcomer should know of it.

    Memories of renamed notes get their new keys first. Ctrl-C keeps what is stored.
    """
    with given.opened(embeds=True) as memory:
        rules = import_rules(memory.layers.list(), layer)
        try:
            with Progress("importing", _UNITS.get(kind, "turns"), total) as bar:

                def store(items: Items, import_id: int | None = None) -> ImportReport:
                    counted = _Counted(items, by_note=kind == "markdown")
                    return memory.import_drafts(
                        counted,
                        source=folder.source,
                        by_session=kind in BY_SESSION,
                        strict=strict,
                        progress=lambda _: bar.reached(counted.count),
                        import_id=import_id,
                        now=now,
                    )

                if archives is None:
                    report = store(read(rules=rules))
                else:
                    report = _import_folder(memory, folder, partial(read, rules=rules), store, archives, now)
            return report, dormant_hint(memory.status()) if report.created else None
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not cut off this answer
            stored = memory.status().memories
            kept = wording.counted(stored, "memory is", "memories are")
            notes().print(f"stopped; {kept} stored, run it again to complete")
            raise Exit(INTERRUPTED) from None


def _import_folder(
    memory: Memory,
    folder: NoteFolder,
    read: Callable[[], Items],
    store: Callable[[Items, int | None], ImportReport],
    archives: _Archives,
    now: datetime | None,
) -> ImportReport:
    done = settle(memory, folder, read, store, archive=archives.removed, archive_most=archives.most, now=now)
    tell_renamed(done.renamed)
    if done.archived:
        archived = wording.counted(done.archived, "memory is", "memories are")
        notes().print(f"{archived} archived, because the notes are gone. To undo: pgrecall import undo")
    return done.report


def _refuse_options(kind: Kind, given: dict[str, object]) -> None:
    if kind not in ("auto", "export"):
        raise InvalidInput(f"Standard input is read as an export, not as {kind}.", hint="Give a file.")
    for option, value in given.items():
        if value:
            raise InvalidInput(
                f"{option} cannot be used with an export, which is imported as it is.",
                hint="Leave it out; --tenant chooses the tenant.",
            )


class _Counted:
    """The items of a source, counted as they are read; a note's parts count with the note."""

    def __init__(self, items: Items, *, by_note: bool) -> None:
        self._items = items
        self._by_note = by_note
        self.count = 0

    def __iter__(self) -> Iterator[Draft | Problem | Skipped]:
        for item in self._items:
            part = self._by_note and isinstance(item, Draft) and "#" in (item.key or "")
            self.count += not (part or isinstance(item, Skipped))
            yield item


def _exit_code(report: ImportReport, path: Path) -> int:
    if report.created + report.updated + report.unchanged:
        return INCOMPLETE if report.problems else DONE
    if report.problems:
        return BAD_INPUT
    notes().print(f"There is nothing to import in {path.resolve()}.")
    return NOTHING_FOUND
