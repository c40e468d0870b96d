"""Imports over HTTP: the file is read whole, then stored in the background, with its progress."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pgrecall.errors import InvalidInput, RecallError
from pgrecall.faces.import_rules import import_rules
from pgrecall.importers.bounds import bounded, require_unpacked
from pgrecall.importers.detect import BY_SESSION, SourceKind, known_kind, open_source
from pgrecall.importers.fields import Keep, Rules
from pgrecall.importers.files import problems_without_folder, without_folder, write_undated
from pgrecall.nouns.export.file import is_export
from pgrecall.nouns.imports.report import ImportReport, Problem, Skipped
from pgrecall.nouns.memories.models import Draft

if TYPE_CHECKING:
    from pgrecall import AsyncMemory

KEPT = 20
"""Number of imports to remember for each tenant; imports of one tenant never displace those of others."""

NAME = r"^[^/\\]{1,120}$"
"""The name of a file; its ending gives the format."""

ImportState = Literal["running", "done", "failed"]
Item = Draft | Problem | Skipped


@dataclass(slots=True)
class Import:
    """The import of one file.

    Attributes:
        name: the name of the file.
        kind: its format; `export` for an export of pgrecall.
        read: items of the file that are stored or were found wrong.
        total: items of the file; null for an export until it is done.
        report: the result so far.
        problem: why it failed; what `report` counts is stored all the same, and a second import completes it.
    """

    id: int
    name: str
    kind: str
    state: ImportState = "running"
    read: int = 0
    total: int | None = None
    report: ImportReport = field(default_factory=ImportReport)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is imported, as by `pgrecall import`. `now` is not for exports, which have times."""

    kind: SourceKind | Literal["export"] = "auto"
    layer: str | None = None
    source: str | None = None
    prefix: str = ""
    tools: bool = False
    keep_secrets: bool = False
    strict: bool = False
    now: datetime | None = None


class Imports:
    """The imports of one service; one runs at a time for each tenant.

    Args:
        body_bytes: what one request may hold.
        importing: the tenants that import something, over HTTP or another way.
    """

    def __init__(self, body_bytes: int, importing: set[str]) -> None:
        self._body_bytes = body_bytes
        self._importing = importing
        self._known: dict[tuple[str, int], Import] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._last: Counter[str] = Counter()  # by tenant, so that numbers reveal nothing about others

    def get(self, tenant: str, number: int) -> Import | None:
        """An import of this tenant."""
        return self._known.get((tenant, number))

    async def start(self, memory: AsyncMemory, name: str, data: bytes, options: ImportOptions) -> Import:
        """Reads a file and starts to store it.

        Raises:
            InvalidInput: another import of this tenant runs, or the file cannot be read, or, with ``strict``,
                has a problem. Nothing is stored.
        """
        if memory.tenant in self._importing:
            raise InvalidInput("Another import of this tenant is running.", hint="Wait until it is done.")
        self._forget(memory.tenant)
        self._last[memory.tenant] += 1
        made = Import(self._last[memory.tenant], name, options.kind)
        folder = tempfile.TemporaryDirectory(prefix="pgrecall-import-")  # lives as long as the task
        path = Path(folder.name).resolve() / name
        began = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(memory, made, path, data, options, began))
        self._tasks[memory.tenant] = task
        self._importing.add(memory.tenant)
        task.add_done_callback(lambda _: self._tasks.pop(memory.tenant, None))
        task.add_done_callback(lambda _: self._importing.discard(memory.tenant))
        task.add_done_callback(lambda _: folder.cleanup())
        await asyncio.shield(began)
        self._known[memory.tenant, made.id] = made
        return made

    async def wait(self, memory: AsyncMemory, made: Import) -> None:
        """Waits until an import has ended; it goes on when the waiting is given up."""
        task = self._tasks.get(memory.tenant)
        if made.state == "running" and task is not None:
            await asyncio.wait({task})

    async def stop(self) -> None:
        """Ends what runs; the batches that are stored stay."""
        tasks = set(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _forget(self, tenant: str) -> None:
        """Makes room for another import of a tenant that has none running."""
        self._known.pop((tenant, self._last[tenant] + 1 - KEPT), None)

    async def _run(
        self,
        memory: AsyncMemory,
        made: Import,
        path: Path,
        data: bytes,
        options: ImportOptions,
        began: asyncio.Future[None],
    ) -> None:
        try:
            await asyncio.to_thread(write_undated, path, data)
            await asyncio.to_thread(require_unpacked, path, self._body_bytes)
            if options.kind == "export" or (options.kind == "auto" and is_export(path)):
                made.kind = "export"
                began.set_result(None)
                await self._read_export(memory, made, path)
            else:
                rules = import_rules(await memory.layers.list(), options.layer, options.now)
                kind, items = await asyncio.to_thread(_items, path, options, rules)
                made.kind, made.total = kind, len(items)
                began.set_result(None)
                await self._store(memory, made, items, options)
            made.state = "done"
        except RecallError as error:
            made.state, made.problem = "failed", without_folder(str(error), path.parent)
            if not began.done():
                error.message = without_folder(error.message, path.parent)
                began.set_exception(error)
        except asyncio.CancelledError:
            made.state, made.problem = "failed", "The service was stopped."
            raise
        finally:
            if made.state == "running":
                made.state, made.problem = (
                    "failed",
                    "The import failed; see the log of the service.",
                )
            if not began.done():
                began.set_exception(RuntimeError("the import failed"))

    async def _read_export(self, memory: AsyncMemory, made: Import, path: Path) -> None:
        def reached(done: int, of: int) -> None:
            made.read, made.total = done, of

        read = await memory.export.read(path, progress=reached)
        made.read = made.total = read.lines
        made.report = ImportReport(created=read.counts.get("memory", 0))

    async def _store(
        self, memory: AsyncMemory, made: Import, items: list[Item], options: ImportOptions
    ) -> None:
        def reached(more: int) -> None:
            made.read += more

        by_session = made.kind in BY_SESSION
        made.report = await memory.import_drafts(
            items,
            source=_source(options, made.kind, made.name),
            by_session=by_session,
            progress=reached,
            now=options.now,
        )


def _items(path: Path, options: ImportOptions, rules: Rules) -> tuple[str, list[Item]]:
    """The format of a file and all of its items, so that a file that cannot be read stores nothing."""
    assert options.kind != "export"
    kind = known_kind(path, options.kind)
    read = open_source(
        path,
        kind=kind,
        source=_source(options, kind, path.name),
        prefix=options.prefix,
        layer=options.layer,
        keep=Keep(options.tools, options.keep_secrets),
        rules=rules,
    )
    items = [*problems_without_folder(bounded(read, path.name), path.parent)]
    problems = [item for item in items if isinstance(item, Problem)]
    if not any(isinstance(item, Draft) for item in items):
        first = f": {problems[0].where}: {problems[0].reason}" if problems else "."
        raise InvalidInput(f"There is nothing to import in {path.name}{first}")
    if problems and options.strict:
        raise InvalidInput(
            f"{len(problems):,} of {path.name} cannot be used; the first is {problems[0].where}: "
            f"{problems[0].reason}",
            hint="Correct it, or leave out strict.",
        )
    return kind, items


def _source(options: ImportOptions, kind: str, name: str) -> str:
    return options.source or (kind if kind in BY_SESSION else f"{kind}:{name}")


def checked_name(name: str) -> str:
    """The name of a file that was sent.

    Raises:
        InvalidInput: it is none, or leads into a folder.
    """
    if not re.match(NAME, name) or not name.isprintable() or not name.strip(". ") or len(name.encode()) > 240:
        raise InvalidInput(
            f"{name[:100]!r} is not the name of a file.", hint="Send it without folders: name=export.zip."
        )
    return name
