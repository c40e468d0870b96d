"""Conversion of conversations to drafts, one for each turn, linked ``next`` to the following turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pgrecall.importers.chat.recalled import without_marked
from pgrecall.importers.chat.turns import (
    IMAGES,
    NO_TURNS,
    RECALLED,
    REPEATED,
    SAME_KEY,
    Conversation,
    Tally,
    Turn,
)
from pgrecall.importers.dates import in_words
from pgrecall.importers.draft_checks import MAX_TARGET_LENGTH, storable
from pgrecall.importers.files import printable_path
from pgrecall.importers.secrets import without_secrets
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft, DraftLink

_MAX_CONTEXT_LENGTH = 10_000
"""Characters of a turn that the context of the next one repeats: as many as the index of words reads.

A longer one is left out whole, because forgetting it removes it from there only as a whole.
"""

_PICTURE = re.compile(r"data:image/[\w.+-]{1,60};base64,[\w+/=%-]++")
"""A picture in the text itself, whose letters would fill the index and say nothing."""


Seen = dict[str, int]
"""The keys of the turns of an import, each with the hash of its text."""


@dataclass(frozen=True, slots=True)
class Target:
    """The common fields of all drafts of an import: source, prefix of the keys, and layer.

    ``keep_secrets`` leaves passwords, keys and tokens in the texts.
    """

    source: str
    prefix: str
    layer: str
    keep_secrets: bool = False


def conversation_drafts(
    conversation: Conversation | Problem, path: Path, target: Target, seen: Seen, tally: Tally
) -> Iterator[Draft | Problem | Skipped]:
    """The drafts of a conversation, or the problem of one.

    A turn with a key in ``seen`` is counted and left out.

    The context of a turn is its date in words, the title of the conversation, and the turn before: lexical
    search covers it, but it is neither embedded nor shown. What somebody says after his own question need
    not be about it, so that question is left out.
    """
    if isinstance(conversation, Problem):
        yield conversation
        return
    before: Turn | None = None
    turns = _cleaned(conversation.turns, target, tally)
    title = conversation.title if target.keep_secrets else without_secrets(conversation.title)[0]
    conversation = replace(conversation, title=title, turns=turns)
    for turn, after in _pairs(conversation, seen, tally):
        draft = _draft(conversation, turn, before, after, target)
        yield from storable(draft, printable_path(path), turn.place, tally.rules)
        before = turn


def _cleaned(turns: Iterable[Turn], target: Target, tally: Tally) -> Iterator[Turn]:
    """The turns without pictures and what recall added to them, and without secrets."""
    for turn in turns:
        text, recalled = without_marked(turn.text)
        tally.add(RECALLED, recalled)
        text, pictures = _PICTURE.subn("", text) if ";base64," in text else (text, 0)
        tally.add(IMAGES, pictures)
        if (recalled or pictures) and not text.strip():
            continue
        if not target.keep_secrets:
            text, secrets = without_secrets(text)
            for kind, count in secrets.items():
                tally.add(f"secrets of the kind {kind!r}, replaced", count)
            known = {
                name: _clean(one) if isinstance(one, str) else one for name, one in turn.metadata.items()
            }
            turn = replace(turn, metadata=known)
        yield turn if text == turn.text else replace(turn, text=text.strip())


@lru_cache(maxsize=256)
def _clean(text: str) -> str:
    """A text of metadata, such as a folder or a branch, without secrets; those of a session are alike."""
    return without_secrets(text)[0]


def _pairs(conversation: Conversation, seen: Seen, tally: Tally) -> Iterator[tuple[Turn, Turn | None]]:
    """Each new turn with the one after it."""
    held: Turn | None = None
    empty = True
    for turn in conversation.turns:
        empty = False
        if turn.key in seen:
            tally.add(REPEATED if seen[turn.key] == hash(turn.text) else SAME_KEY)
            continue
        seen[turn.key] = hash(turn.text)
        if held is not None:
            yield held, turn
        held = turn
    if held is not None:
        yield held, None
    tally.add(NO_TURNS, empty)


def _draft(
    conversation: Conversation, turn: Turn, before: Turn | None, after: Turn | None, target: Target
) -> Draft:
    links: Sequence[DraftLink] = ()
    if after is not None and len(target.prefix + after.key) <= MAX_TARGET_LENGTH:
        links = (DraftLink(target.prefix + after.key, "next"),)
    return Draft(
        body=turn.text,
        key=target.prefix + turn.key,
        layer=target.layer,
        role=turn.role,
        author=turn.author,
        context=_context(conversation, turn, before),
        source=target.source,
        session_id=conversation.session,
        metadata=_metadata(conversation, turn),
        occurred_at=turn.at,
        links=tuple(links),
    )


def _context(conversation: Conversation, turn: Turn, before: Turn | None) -> str:
    day = conversation.day or turn.at
    lines = [in_words(day)] if day else []
    if conversation.title:
        lines.append(conversation.title)
    if before is not None and len(before.text) <= _MAX_CONTEXT_LENGTH and not _asks_on(before, turn):
        lines.append(f"{before.author}: {before.text}")
    return "\n".join(lines)


def _asks_on(before: Turn, turn: Turn) -> bool:
    """Whether the turn before is a question of the same speaker."""
    return (before.role, before.author) == (turn.role, turn.author) and "?" in before.text


def _metadata(conversation: Conversation, turn: Turn) -> dict[str, Any]:
    title = {"conversation": conversation.title} if conversation.title else {}
    return title | dict(turn.metadata)
