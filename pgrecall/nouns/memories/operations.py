"""Editing, reading, listing, pinning and forgetting memories, and recording accesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pgrecall.encoding import (
    embedding_of_text,
    require_filter,
    require_text,
    search_document,
    to_json,
)
from pgrecall.errors import MemoryNotFound
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.memories.models import (
    Access,
    AccessCounts,
    Link,
    ListedMemory,
    ListOrder,
    Remembered,
    StoredMemory,
    VitalityTerms,
)
from pgrecall.nouns.operation import NOW, Operation, Row, id_of, read_bool, read_int
from pgrecall.nouns.search.models import SearchFilter


def edit(
    reference: int | str,
    changes: Mapping[str, object],
    embedded: Embedded | None,
    embedded_with: str | None,
    content_hash: str | None,
    now: datetime | None,
) -> Operation[Remembered]:
    """Changes fields of a memory; stores ``embedded`` if ``content_hash`` is that of the new text."""
    return Operation(
        f"SELECT * FROM recall.edit({id_of(reference, 'memory')}, %(changes)s, %(embedded)s, "
        f"%(model)s, {NOW})",
        {
            "memory": reference,
            "changes": to_json(dict(changes)),
            "embedded": embedding_of_text(embedded, content_hash),
            "model": None if embedded is None else embedded_with,
            "now": now,
        },
        lambda rows: Remembered(
            rows[0]["id"], rows[0]["key"], rows[0]["outcome"], changed=tuple(rows[0].get("changed", ()))
        ),
        repeatable=True,
    )


def keys_of_source(source: str, sessions: Sequence[str] | None = None) -> Operation[list[str]]:
    """Lists the keys of live memories of a source, or of these sessions of it."""
    return Operation(
        "SELECT * FROM recall.keys_of_source(%(source)s, %(sessions)s) AS key",
        {"source": source, "sessions": None if sessions is None else list(sessions)},
        lambda rows: [row["key"] for row in rows],
        repeatable=True,
        reads=True,
    )


def get(reference: int | str, now: datetime | None) -> Operation[StoredMemory]:
    """Reads one memory with its vitality and links."""
    return Operation(
        f"SELECT * FROM recall.get({id_of(reference, 'memory')}, {NOW})",
        {"memory": reference, "now": now},
        lambda rows: _memory(rows, reference),
        repeatable=True,
        reads=True,
    )


def list_memories(
    chosen: SearchFilter,
    *,
    order: ListOrder,
    after: str | None,
    limit: int,
    now: datetime | None,
    session_id: str | None = None,
) -> Operation[tuple[ListedMemory, ...]]:
    """Reads one page of the memories that pass a filter. It does not count as an access.

    Args:
        order: ``newest`` first, or highest ``vitality`` first.
        after: cursor of the last memory of the previous page.
        limit: number of memories on a page, 1 to 1000.
        session_id: only memories of this session.
    """
    require_filter(chosen)
    for text, what in ((after, "The cursor"), (session_id, "The session")):
        if text is not None:
            require_text(text, what)
    return Operation(
        f"SELECT * FROM recall.list_memories(%(filter)s::jsonb, %(order)s, %(after)s, %(limit)s::int, {NOW}, "
        "p_session_id => %(session)s)",
        {
            "filter": to_json(search_document(chosen)),
            "order": order,
            "after": after,
            "limit": limit,
            "now": now,
            "session": session_id,
        },
        lambda rows: tuple(
            read_as(ListedMemory, row | {"tags": tuple(row["tags"])}) for row in map(dict, rows)
        ),
        repeatable=True,
        reads=True,
    )


def forget(reference: int | str, hard: bool, now: datetime | None) -> Operation[bool]:
    """Archives a memory or, if ``hard``, deletes it; returns whether anything changed."""
    return Operation(
        f"SELECT recall.forget({id_of(reference, 'id')}, %(hard)s, {NOW})",
        {"id": reference, "hard": hard, "now": now},
        read_bool,
    )


def forget_session(session_id: str, dry_run: bool, now: datetime | None) -> Operation[int]:
    """Archives the memories of a session, or with ``dry_run`` only counts them; returns how many."""
    require_text(session_id, "The session")
    return Operation(
        f"SELECT recall.forget_session(%(session)s, %(dry_run)s, {NOW})",
        {"session": session_id, "dry_run": dry_run, "now": now},
        read_int,
    )


def unarchive_session(session_id: str, now: datetime | None) -> Operation[int]:
    """Restores what the last :func:`forget_session` of a session archived; returns how many."""
    require_text(session_id, "The session")
    return Operation(
        f"SELECT recall.unarchive_session(%(session)s, {NOW})",
        {"session": session_id, "now": now},
        read_int,
    )


def unarchive(reference: int | str, now: datetime | None) -> Operation[bool]:
    """Restores an archived memory; returns whether it was archived."""
    return Operation(
        f"SELECT recall.unarchive({id_of(reference, 'memory')}, {NOW})",
        {"memory": reference, "now": now},
        read_bool,
        repeatable=True,
    )


def pin(reference: int | str, pinned: bool, now: datetime | None) -> Operation[bool]:
    """Pins or unpins a memory; returns whether anything changed."""
    return Operation(
        f"SELECT recall.pin({id_of(reference, 'memory')}, %(pinned)s, {NOW})",
        {"memory": reference, "pinned": pinned, "now": now},
        read_bool,
        repeatable=True,
    )


def rename_keys(source: str, keys: Mapping[str, str], now: datetime | None) -> Operation[int]:
    """Gives live memories of a source other keys; returns how many have one."""
    return Operation(
        f"SELECT recall.rename_keys(%(source)s, %(keys)s::jsonb, {NOW})",
        {"source": source, "keys": to_json(dict(keys)), "now": now},
        read_int,
    )


def record_access(access: Access, now: datetime | None) -> Operation[bool]:
    """Records one access; returns whether it was new."""
    logged = record_accesses([access], now)
    return Operation(
        logged.sql, logged.parameters, lambda rows: logged.read(rows) == 1, repeatable=logged.repeatable
    )


def record_accesses(accesses: Iterable[Access], now: datetime | None) -> Operation[int]:
    """Records accesses; returns how many were new, by idempotency key."""
    items = [
        {
            ("key" if isinstance(access.memory, str) else "memory_id"): access.memory,
            "kind": access.kind,
            "at": access.at,
            "session_id": access.session_id,
            "idempotency_key": access.idempotency_key,
        }
        for access in accesses
    ]
    return Operation(
        f"SELECT recall.record_accesses(%(items)s, {NOW})",
        {"items": to_json(items), "now": now},
        read_int,
        repeatable=all(item["idempotency_key"] is not None for item in items),
    )


def _memory(rows: Sequence[Row], reference: int | str) -> StoredMemory:
    if not rows:
        raise MemoryNotFound(reference)
    values = dict(rows[0])
    values["tags"] = tuple(values["tags"])
    values["aliases"] = tuple(values["aliases"])
    values["vitality"] = read_as(VitalityTerms, values["vitality"])
    values["access_counts"] = read_as(AccessCounts, values["access_counts"])
    values["links"] = tuple(
        read_as(Link, entry | {"created_at": datetime.fromisoformat(entry["created_at"])})
        for entry in values["links"]
    )
    return read_as(StoredMemory, values)
