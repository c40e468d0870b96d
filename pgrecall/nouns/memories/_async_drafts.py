"""Storing drafts: embeds new and changed texts, then stores a batch in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from pgrecall.client._async.connection import AsyncConnection
from pgrecall.errors import InvalidInput
from pgrecall.importers.secrets import secrets_in
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.history import operations as versions
from pgrecall.nouns.imports.batches import (
    Portions,
    Stored,
    add_batch,
    content_hash,
    keys_of_others,
    needs_embedding,
    refuse_problems,
    with_kept_title,
)
from pgrecall.nouns.imports.operations import store_imported
from pgrecall.nouns.imports.report import ImportReport, Problem, Skipped
from pgrecall.nouns.links.operations import count_pending_links
from pgrecall.nouns.maintenance import operations as maintenance
from pgrecall.nouns.maintenance._async import refresh_graph
from pgrecall.nouns.memories import operations as memories
from pgrecall.nouns.memories import remember as storing
from pgrecall.nouns.memories.models import Draft, Remembered
from pgrecall.nouns.memories.remember import KnownContent


async def remember(
    connection: AsyncConnection,
    drafts: Iterable[Draft],
    *,
    compare: bool = False,
    keep: bool = True,
    now: datetime | None = None,
) -> list[Remembered]:
    """Stores drafts, all or none; without any, the database is not asked.

    With ``keep``, memories with their keys keep what they do not give.
    """
    batch = list(drafts)
    for place, draft in enumerate(cast("list[object]", batch), 1):
        if not isinstance(draft, Draft):
            kind = type(draft).__name__
            raise InvalidInput(f"Draft {place} is a {kind}; make it with pgrecall.Draft(...).")
    if not batch:
        return []
    known = await _known_content(connection, batch)
    stored = await _store(connection, batch, known, keep=keep, compare=compare, now=now)
    return [
        replace(one, secrets=secrets_in(draft.body))
        for one, draft in zip(stored.remembered, batch, strict=True)
    ]


async def edit(
    connection: AsyncConnection, reference: int | str, changes: Mapping[str, object], now: datetime | None
) -> Remembered:
    """Changes fields of a memory; a new text is embedded."""
    embedded, digest, unread = None, None, 0
    if connection.embedder is not None and changes.keys() & {"title", "body"}:
        stored = await connection.execute(memories.get(reference, now))
        title, body = (changes.get(name, getattr(stored, name)) or "" for name in ("title", "body"))
        if (title, body) != (stored.title, stored.body) and f"{title}{body}".strip():
            embedded, digest, unread = await _embedded_text(connection, str(title), str(body))
    edited = await connection.execute(
        memories.edit(reference, changes, embedded, connection.embedder_name, digest, now)
    )
    return replace(edited, unread=unread, secrets=secrets_in(str(changes.get("body") or "")))


async def restore_version(
    connection: AsyncConnection, reference: int | str, number: int, now: datetime | None
) -> Remembered:
    """Restores the text and fields of a version; a text that differs from the current one is embedded."""
    embedded, digest, unread = None, None, 0
    if connection.embedder is not None:
        [current] = await connection.execute(versions.versions(reference, 1))
        wanted = await connection.execute(versions.version(reference, number))  # SQL refuses to restore None
        if wanted is not None and (wanted.title, wanted.body) != (current.title, current.body):
            embedded, digest, unread = await _embedded_text(connection, wanted.title, wanted.body)
    restored = await connection.execute(
        versions.restore_version(reference, number, embedded, connection.embedder_name, digest, now)
    )
    return replace(restored, unread=unread)


async def _embedded_text(connection: AsyncConnection, title: str, body: str) -> tuple[Embedded, str, int]:
    """A text embedded, its digest, and how many characters at its end have no vector."""
    [embedded] = await connection.embed_memories([(title, body)])
    return embedded, content_hash(Draft(body, title=title)), embedded.unread(body)


async def import_drafts(
    connection: AsyncConnection,
    items: Iterable[Draft | Problem | Skipped],
    *,
    source: str,
    by_session: bool,
    strict: bool,
    progress: Callable[[int], None],
    import_id: int | None,
    now: datetime | None,
) -> ImportReport:
    """Stores the items of an importer, batch by batch; then updates statistics, vectors and the graph."""
    report = ImportReport(import_id=import_id)
    seen: set[str] = set()
    sessions: set[str] = set()
    portions = Portions(items, embedded=connection.embedder is not None)
    while batch := await connection.run(portions.next):  # an importer reads files
        problems = [item for item in batch if isinstance(item, Problem)]
        drafts = [item for item in batch if isinstance(item, Draft)]
        if strict:
            refuse_problems(problems)
        stored = Stored()
        if drafts:
            stored = await _import_batch(connection, drafts, source, report.import_id, now)
        if strict:
            refuse_problems(stored.problems)
        seen.update(draft.key for draft in drafts if draft.key is not None)
        sessions.update(draft.session_id for draft in drafts if by_session and draft.session_id)
        report = add_batch(report, stored, problems, [item for item in batch if isinstance(item, Skipped)])
        progress(len(batch))
    await connection.execute(maintenance.refresh_statistics(now))
    await connection.execute(maintenance.move_vectors_to_own_table())
    await refresh_graph(connection)
    there = await connection.execute(
        memories.keys_of_source(source, sorted(sessions) if by_session else None)
    )
    pending = await connection.execute(count_pending_links())
    removed = tuple(key for key in there if key not in seen)
    return replace(report, removed=removed, links_pending=pending)


async def _import_batch(
    connection: AsyncConnection,
    drafts: Sequence[Draft],
    source: str,
    import_id: int | None,
    now: datetime | None,
) -> Stored:
    """Stores a batch that came from a source; a key that another source owns is left alone, and so is what
    was forgotten or pruned, as long as the source has nothing new to say of it."""
    known = await _known_content(connection, drafts)
    foreign = keys_of_others(drafts, known)
    taken = {problem.where for problem in foreign}
    ours = [draft for draft in drafts if draft.key not in taken]
    vectors = await _vectors(connection, ours, known)
    rows, noted = await connection.execute(
        store_imported(
            source,
            import_id,
            ours,
            vectors,
            connection.embedder_name,
            now,
            project=connection.asked_here.get("project"),
        )
    )
    stored = Stored.of(rows, ours, noted)
    return replace(stored, problems=(*foreign, *stored.problems))


async def _known_content(connection: AsyncConnection, drafts: Sequence[Draft]) -> dict[str, KnownContent]:
    """The stored memories with the keys of these drafts."""
    keys = [draft.key for draft in drafts if draft.key is not None]
    return await connection.execute(storing.content_hashes(keys)) if keys else {}


async def _store(
    connection: AsyncConnection,
    drafts: Sequence[Draft],
    known: dict[str, KnownContent],
    *,
    keep: bool,
    compare: bool,
    now: datetime | None,
) -> Stored:
    """Embeds those drafts whose text is not ``known`` and embedded, then stores all in one call.

    With ``keep``, known memories keep the fields that a draft does not give, and their titles are embedded
    with the new texts. If a title changes before the call, Postgres leaves the vector to the job ``embed``.
    One draft that cannot be stored refuses the batch.
    """
    whole = [with_kept_title(draft, known) for draft in drafts] if keep else drafts
    vectors = await _vectors(connection, whole, known)
    rows = await connection.execute(
        storing.remember_many(
            drafts,
            vectors,
            connection.embedder_name,
            hashes=[content_hash(draft) for draft in whole] if keep else None,
            compare=compare,
            project=connection.asked_here.get("project"),
            now=now,
        )
    )
    return Stored.of(rows, drafts)


async def _vectors(
    connection: AsyncConnection, drafts: Sequence[Draft], known: dict[str, KnownContent]
) -> list[Embedded | None]:
    """The vectors of those drafts whose text is not ``known`` and embedded; None for the others."""
    vectors: list[Embedded | None] = [None] * len(drafts)
    if connection.embedder is not None:
        changed = [place for place, draft in enumerate(drafts) if needs_embedding(draft, known)]
        texts = [(drafts[place].title, drafts[place].body) for place in changed]
        made = await connection.embed_memories(texts) if texts else []
        for place, embedded in zip(changed, made, strict=True):
            vectors[place] = embedded
    return vectors
