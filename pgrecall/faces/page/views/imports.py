"""Imports of files that are dropped on the page, in the background, with their progress."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from pgrecall.errors import InvalidInput, RecallError
from pgrecall.faces.import_rules import import_rules
from pgrecall.faces.page.form_fields import Upload
from pgrecall.faces.page.request_handling import PageRequest, View, redirect
from pgrecall.importers.bounds import bounded, require_unpacked
from pgrecall.importers.detect import BY_SESSION, known_kind, open_source
from pgrecall.importers.files import problems_without_folder, without_folder, write_undated
from pgrecall.nouns.imports.report import ImportReport, Problem

if TYPE_CHECKING:
    from pgrecall import AsyncMemory

KEPT = 20
"""Number of imports to remember for each tenant; imports of one tenant never displace those of others."""

_SHOWN_PROBLEMS = 20
_REFRESH_SECONDS = 2


@dataclass
class Import:
    """The import of some files: how far it is, and its report once it is done.

    Attributes:
        read: items that were read so far.
        reports: the report of each file that is done.
    """

    tenant: str
    files: tuple[str, ...]
    started_at: datetime
    read: int = 0
    reports: list[tuple[str, ImportReport]] = field(default_factory=list)
    failed: str = ""
    done: bool = False

    @property
    def total(self) -> ImportReport:
        """The sum of the reports."""
        whole = ImportReport()
        for _, report in self.reports:
            whole = replace(
                whole,
                created=whole.created + report.created,
                updated=whole.updated + report.updated,
                unchanged=whole.unchanged + report.unchanged,
                links_pending=report.links_pending,
                problems=whole.problems + report.problems,
                skipped=whole.skipped + report.skipped,
            )
        return whole


class Imports:
    """The imports of one service, by a random number; one runs at a time for each tenant.

    Args:
        body_bytes: what one request may hold.
        importing: the tenants that import something, over the page or another way.
    """

    def __init__(self, body_bytes: int, importing: set[str]) -> None:
        self._body_bytes = body_bytes
        self._importing = importing
        self._imports: dict[str, Import] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def get(self, number: str, tenant: str) -> Import | None:
        """An import of this tenant."""
        found = self._imports.get(number)
        return found if found is not None and found.tenant == tenant else None

    def start(self, memory: AsyncMemory, uploads: Iterable[Upload], now: datetime) -> str:
        """Starts to import files, and returns the number of the import.

        Args:
            now: the time of the request, which counts for all files.

        Raises:
            InvalidInput: another import of this tenant is running.
        """
        if memory.tenant in self._importing:
            raise InvalidInput("Another import of this tenant is running.", hint="Wait until it is done.")
        own = [number for number, each in self._imports.items() if each.tenant == memory.tenant]
        files = tuple(uploads)
        for number in own[: max(len(own) + 1 - KEPT, 0)]:
            del self._imports[number]
        number = secrets.token_urlsafe(12)
        started = Import(memory.tenant, tuple(each.name for each in files), now)
        self._imports[number] = started
        task = asyncio.create_task(_import(memory, started, files, self._body_bytes))
        self._tasks.add(task)
        self._importing.add(memory.tenant)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._importing.discard(memory.tenant))
        return number


def import_views(imports: Imports) -> tuple[View, View]:
    """The view that receives files, and the one that shows how far their import is."""

    async def receive(request: PageRequest) -> Response:
        if not request.uploads:
            raise InvalidInput("No file was sent.", hint="Choose one or more, or drop them on the field.")
        number = imports.start(request.memory, request.uploads, request.now)
        if _wants_json(request):
            return JSONResponse({"address": f"/import/{number}"})
        return redirect(f"/import/{number}")

    async def show(request: PageRequest) -> Response:
        found = imports.get(request.request.path_params["number"], request.memory.tenant)
        if found is None:
            raise HTTPException(404, "There is no such import, or the service was restarted since.")
        if _wants_json(request):
            return JSONResponse(
                {"read": found.read, "files": len(found.reports), "of": len(found.files), "done": found.done}
            )
        return await request.render(
            "import.html.j2",
            found=found,
            total=found.total,
            problems=found.total.problems[:_SHOWN_PROBLEMS],
            refresh=None if found.done else _REFRESH_SECONDS,
        )

    return receive, show


async def _import(memory: AsyncMemory, state: Import, files: tuple[Upload, ...], body_bytes: int) -> None:
    """Imports the files one after the other; what cannot be read is a problem of its file."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="pgrecall-import-"))
    try:
        for place, upload in enumerate(files):
            path = folder / str(place) / upload.name
            await asyncio.to_thread(_write, path, upload.data)
            state.reports.append((upload.name, await _import_file(memory, state, path, body_bytes)))
    except Exception as error:  # noqa: BLE001 -- the page shows it; nobody awaits this task
        state.failed = error.message if isinstance(error, RecallError) else type(error).__name__
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        state.done = True  # last: whoever reads it may start the next import


async def _import_file(memory: AsyncMemory, state: Import, path: Path, body_bytes: int) -> ImportReport:
    def reached(items: int) -> None:
        state.read += items

    try:
        await asyncio.to_thread(require_unpacked, path, body_bytes)
        kind = await asyncio.to_thread(known_kind, path)
        source = kind if kind in BY_SESSION else f"page:{path.name}"
        rules = import_rules(await memory.layers.list(), now=state.started_at)
        items = bounded(open_source(path, kind=kind, source=source, rules=rules), path.name)
        return await memory.import_drafts(
            problems_without_folder(items, path.parent),
            source=source,
            by_session=kind in BY_SESSION,
            progress=reached,
            now=state.started_at,
        )
    except InvalidInput as error:
        return ImportReport(problems=(Problem(path.name, without_folder(str(error), path.parent)),))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir()
    write_undated(path, data)


def _wants_json(request: PageRequest) -> bool:
    return "application/json" in request.request.headers.get("accept", "")
