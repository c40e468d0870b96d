"""The views of imports that were stored: the last ones of each source, and undoing one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pgrecall.faces.page.form_fields import require_confirmed
from pgrecall.faces.page.request_handling import PageRequest
from pgrecall.nouns.imports.models import ImportSummary

ALL, OF_A_SOURCE, SHOWN, SHOWN_KEPT = 1000, 3, 60, 100


async def past_imports(request: PageRequest) -> Response:
    """The last imports of each source, newest first."""
    found = [*_last_of_each(await request.memory.imports.list(limit=ALL))]
    return await request.render("past_imports.html.j2", imports=found[:SHOWN])


async def undo_import_form(request: PageRequest) -> Response:
    """What an import did, and the question whether to undo it."""
    number = request.path_id("number", "import")
    found = [one for one in await request.memory.imports.list(limit=ALL) if one.id == number]
    if not found:
        raise HTTPException(404, f"There is no import {number}.")
    return await request.render("undo_import.html.j2", found=found[0], undone=None)


async def undo_import(request: PageRequest) -> Response:
    """What became of an import that was undone."""
    number = request.path_id("number", "import")
    require_confirmed(request.form, "The import was not undone.")
    undone = await request.memory.imports.undo(number, now=request.now)
    return await request.render("undo_import.html.j2", found=None, undone=undone, most=SHOWN_KEPT)


def _last_of_each(imports: Sequence[ImportSummary]) -> Iterator[ImportSummary]:
    seen: Counter[str] = Counter()
    for one in imports:
        seen[one.source] += 1
        if seen[one.source] <= OF_A_SOURCE:
            yield one
