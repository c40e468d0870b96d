"""Imports: storing what an importer read, archiving what a source no longer holds, listing and undoing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from pgrecall.encoding import MAX_ID, require_text, to_json
from pgrecall.errors import InvalidInput
from pgrecall.nouns.conversion import read_document
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.imports.models import ImportSummary, ImportUndone, KeysRenamed
from pgrecall.nouns.memories.models import Draft, Remembered
from pgrecall.nouns.memories.remember import Rejected, draft_items, remembered
from pgrecall.nouns.operation import NOW, Operation, read_int, rows_of


def store_imported(
    source: str,
    import_id: int | None,
    drafts: Sequence[Draft],
    vectors: Sequence[Embedded | None],
    embedded_with: str | None,
    now: datetime | None,
    *,
    project: str | None = None,
) -> Operation[tuple[list[Remembered | Rejected], int | None]]:
    """Stores drafts of a source with their vectors; None keeps the stored vector. Unchanged archived memories
    stay archived, unless an import archived them. Returns also the id of the import that notes the changes;
    without ``import_id`` a new one begins with the first change. Those without a project get ``project``."""
    return Operation(
        f"SELECT * FROM recall.store_imported(%(source)s, %(import)s, %(items)s, %(model)s, {NOW}, "
        "%(project)s)",
        {
            "source": _source(source),
            "import": import_id,
            "project": project,
            "items": to_json(draft_items(drafts, vectors)),
            "model": embedded_with if any(v is not None for v in vectors) else None,
            "now": now,
        },
        lambda rows: (
            [remembered(row, drafts, vectors) for row in rows],
            rows[0]["import"] if rows else import_id,
        ),
    )


def archive_imported(
    source: str, import_id: int | None, keys: Sequence[str], now: datetime | None
) -> Operation[int]:
    """Archives the live memories of a source with these keys in one step; returns how many."""
    for key in keys:
        require_text(key, f"One of the keys, {key!r},")
    return Operation(
        f"SELECT archived FROM recall.archive_imported(%(source)s, %(import)s, %(keys)s, {NOW})",
        {
            "source": _source(source),
            "import": import_id,
            "keys": list(keys),
            "now": now,
        },
        read_int,
    )


def rename_imported(
    source: str, import_id: int | None, keys: Mapping[str, str], now: datetime | None
) -> Operation[KeysRenamed]:
    """Gives live memories of a source new keys by present ones, and notes it under the import."""
    return Operation(
        f"SELECT * FROM recall.rename_imported(%(source)s, %(import)s, %(keys)s::jsonb, {NOW})",
        {"source": _source(source), "import": import_id, "keys": to_json(dict(keys)), "now": now},
        lambda rows: KeysRenamed(int(rows[0]["renamed"]), rows[0]["import"]),
    )


def imports(limit: int, source: str | None) -> Operation[tuple[ImportSummary, ...]]:
    """Lists the newest imports, newest first; only those of a source if one is given."""
    return rows_of("imports", ImportSummary, limit=limit, source=source)


def undo_import(import_id: int | None, source: str | None, now: datetime | None) -> Operation[ImportUndone]:
    """Undoes an import; without an id, the last one that was not undone, of the source if one is given."""
    if import_id is not None and not 0 < import_id <= MAX_ID:
        raise InvalidInput(
            f"There is no import {import_id} in this tenant.", hint="List them with `pgrecall import list`."
        )
    return Operation(
        f"SELECT recall.undo_import(%(import)s, %(source)s, {NOW}) AS undone",
        {"import": import_id, "source": _source(source), "now": now},
        lambda rows: read_document(ImportUndone, rows[0]["undone"]),
    )


def _source(source: str | None) -> str | None:
    if source is not None:
        require_text(source, f"The source {source!r}")
    return source
