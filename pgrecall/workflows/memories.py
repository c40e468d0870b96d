"""Drafts into memories: what is new or changed is embedded, then all is stored at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from pgrecall import operations
from pgrecall.encoding import Vector
from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.models.maintenance import Problem
from pgrecall.models.memories import Draft, Remembered
from pgrecall.operations import KnownContent, Rejected
from pgrecall.search.embed.embedder import embedding_text
from pgrecall.workflows.base import Embed, Flow


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one batch of drafts."""

    remembered: tuple[Remembered, ...]
    problems: tuple[Problem, ...]


def remember(
    drafts: Sequence[Draft], embedder: str | None, *, strict: bool = True, now: datetime | None = None
) -> Flow[Stored]:
    """Embeds what is new or changed, then stores the whole batch in one call.

    With ``strict`` one draft that cannot be stored refuses the batch; otherwise it becomes a
    problem and the rest is stored.
    """
    known = yield from what_is_known(drafts)
    return (yield from store(drafts, known, embedder, strict=strict, now=now))


def remember_one(draft: Draft, embedder: str | None) -> Flow[Remembered]:
    """Stores one draft."""
    stored = yield from remember([draft], embedder)
    return stored.remembered[0]


def remember_many(
    drafts: Iterable[Draft], embedder: str | None, *, now: datetime | None = None
) -> Flow[list[Remembered]]:
    """Stores drafts, all or none; without any, asks for nothing."""
    batch = list(drafts)
    for place, draft in enumerate(cast("list[object]", batch), 1):
        if not isinstance(draft, Draft):
            kind = type(draft).__name__
            raise InvalidInput(f"Draft {place} is a {kind}; make it with pgrecall.Draft(...).")
    if not batch:
        return []
    stored = yield from remember(batch, embedder, now=now)
    return list(stored.remembered)


def what_is_known(drafts: Sequence[Draft]) -> Flow[dict[str, KnownContent]]:
    """What is stored under the keys of these drafts."""
    keys = [draft.key for draft in drafts if draft.key is not None]
    known: dict[str, KnownContent] = (yield operations.content_hashes(keys)) if keys else {}
    return known


def store(
    drafts: Sequence[Draft],
    known: dict[str, KnownContent],
    embedder: str | None,
    *,
    strict: bool,
    revive: bool = True,
    now: datetime | None = None,
) -> Flow[Stored]:
    """Embeds those drafts whose text is not ``known`` and embedded, then stores all in one call.

    What is archived and not changed comes back with ``revive`` alone.
    """
    vectors: list[Vector | None] = [None] * len(drafts)
    if embedder is not None:
        stale = [place for place, draft in enumerate(drafts) if _needs_embedding(draft, known)]
        texts = tuple(embedding_text(drafts[place].title, drafts[place].body) for place in stale)
        made = (yield Embed(texts)) if texts else []
        if isinstance(made, EmbedderError):
            raise made
        for place, vector in zip(stale, made, strict=True):
            vectors[place] = vector
    outcome = yield operations.remember_many(
        drafts, vectors, embedder, skip_rejected=not strict, revive=revive, now=now
    )
    rows = cast("list[Remembered | Rejected]", outcome)
    return Stored(
        tuple(row for row in rows if isinstance(row, Remembered)),
        tuple(_problem_of(row, drafts) for row in rows if isinstance(row, Rejected)),
    )


def content_hash(draft: Draft) -> str:
    """The same digest that the generated column ``content_hash`` holds."""
    return hashlib.md5(f"{draft.title}\x1f{draft.body}".encode(), usedforsecurity=False).hexdigest()


def _problem_of(rejected: Rejected, drafts: Sequence[Draft]) -> Problem:
    """A rejected draft as a problem that names it."""
    draft = drafts[rejected.position]
    return Problem(draft.key or draft.title or f"draft {rejected.position + 1}", rejected.reason)


def _needs_embedding(draft: Draft, known: dict[str, KnownContent]) -> bool:
    there = known.get(draft.key) if draft.key is not None else None
    return there is None or not there.embedded or there.content_hash != content_hash(draft)
