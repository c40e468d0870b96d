"""The command import: notes, records and chats in, with progress, and a report of what became of them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pgrecall.client.export_file import is_export
from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.base import BAD_INPUT, DONE, INTERRUPTED, NOTHING_FOUND, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, Context, Exit, Option
from pgrecall.faces.cli.export import STREAM, import_export
from pgrecall.faces.cli.progress import Progress
from pgrecall.faces.cli.rendering.memory import show_import
from pgrecall.faces.cli.values import text
from pgrecall.importers.detect import KnownKind, count_items, known_kind, open_source, source_name
from pgrecall.models.imports import ImportReport, Problem
from pgrecall.models.memories import Draft

_THINGS: dict[KnownKind, str] = {
    "markdown": "notes",
    "jsonl": "records",
    "chat": "turns",
    "mem0": "memories",
    "hindsight": "facts",
}


def import_(
    context: Context,
    path: Annotated[
        Path,
        Argument(
            help="A folder of Markdown notes, or a .md, .jsonl, .json or .zip file; what `pgrecall export` "
            "wrote, or - for that from standard input."
        ),
    ],
    kind: Annotated[
        str,
        Option("--kind", "--format", help="auto, markdown, jsonl, chat, mem0, hindsight, export."),
    ] = "auto",
    layer: Annotated[
        str | None, Option(help="For notes and turns that name none, and for all of an export.")
    ] = None,
    source: Annotated[str | None, Option(help="Remember the import under this name.")] = None,
    prefix: Annotated[str, Option(help="Put before every key.")] = "",
    strict: Annotated[bool, Option(help="Stop at the first problem.")] = False,
    embeddings: Annotated[
        bool, Option("--embeddings/--no-embeddings", help="Of an export: with its vectors, or without.")
    ] = True,
) -> None:
    """Import memories. Doing it again updates what has changed and leaves the rest.

    Every batch is committed on its own, so Ctrl-C loses nothing that was reported, and a second run
    completes the work. What `pgrecall export` wrote is imported whole or not at all, into a tenant that holds
    nothing.
    """
    if kind == "export" or path == STREAM or (kind == "auto" and path.is_file() and is_export(path)):
        _refuse_options(kind, {"--layer": layer, "--source": source, "--prefix": prefix, "--strict": strict})
        import_export(globals_of(context), path, embeddings=embeddings)
        return
    wanted = _kind(path, kind)
    name = text(source, "--source") if source is not None else source_name(path, wanted)
    items = open_source(path, kind=wanted, source=name, prefix=prefix, layer=layer)
    total = count_items(path, wanted)
    with globals_of(context).opened(embeds=True) as memory:
        try:
            with Progress("importing", _THINGS[wanted], total) as bar:
                counted = _Counted(items, by_note=wanted == "markdown")
                report = memory.import_drafts(
                    counted, source=name, strict=strict, progress=lambda _: bar.reached(counted.count)
                )
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the second Ctrl-C must not cut off this answer
            stored = memory.status().memories
            notes().print(f"stopped; {stored:,} memories are stored, run it again to complete")
            raise Exit(INTERRUPTED) from None
    show_import(output(), report)
    raise Exit(_exit_code(report, path))


def _refuse_options(kind: str, given: dict[str, object]) -> None:
    if kind not in ("auto", "export"):
        raise InvalidInput(f"Standard input is read as an export, not as {kind}.", hint="Give a file.")
    for option, value in given.items():
        if value:
            raise InvalidInput(
                f"{option} does not go with an export, which is imported as it is.",
                hint="Leave it out; --tenant chooses whose it becomes.",
            )


class _Counted:
    """The items of a source, counted as they are read; a note's parts count with the note."""

    def __init__(self, items: Iterator[Draft | Problem], *, by_note: bool) -> None:
        self._items = items
        self._by_note = by_note
        self.count = 0

    def __iter__(self) -> Iterator[Draft | Problem]:
        for item in self._items:
            part = self._by_note and isinstance(item, Draft) and "#" in (item.key or "")
            self.count += not part
            yield item


def _kind(path: Path, given: str) -> KnownKind:
    match given:
        case "auto" | "markdown" | "jsonl" | "chat" | "mem0" | "hindsight":
            return known_kind(path, given)
        case _:
            raise InvalidInput(
                f"There is no kind {given!r}.",
                hint="Use auto, markdown, jsonl, chat, mem0, hindsight or export.",
            )


def _exit_code(report: ImportReport, path: Path) -> int:
    if report.created + report.updated + report.unchanged:
        return DONE
    if report.problems:
        return BAD_INPUT
    notes().print(f"There is nothing to import in {path}.")
    return NOTHING_FOUND
