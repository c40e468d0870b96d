"""Turns of a conversation into drafts that keep who spoke, when, and after whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast, get_args

from pgrecall.importers.dates import in_words
from pgrecall.models.memories import Draft, DraftLink, Role


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance. ``index`` counts the turns of its session from 0, ``place`` names it in a Problem."""

    id: str
    speaker: str
    text: str
    index: int
    place: str


@dataclass(frozen=True, slots=True)
class Session:
    """Turns spoken in one go. ``number`` is None for a conversation that has no sessions."""

    sample: str
    number: int | None
    began_at: datetime | None
    turns: Sequence[Turn]

    @property
    def id(self) -> str:
        return self.sample if self.number is None else f"{self.sample}/session_{self.number}"


def drafts(session: Session, *, source: str, prefix: str, layer: str) -> Iterator[tuple[str, Draft]]:
    """Each turn's place and draft. A turn's ``next`` link leads to the turn after it in the session.

    Turns are one second apart, so that time keeps their order. The context holds the date in words
    and the turn before.
    """
    keys = [f"{prefix}{session.sample}/{turn.id}" for turn in session.turns]
    for position, turn in enumerate(session.turns):
        before = session.turns[position - 1] if position else None
        yield (
            turn.place,
            Draft(
                body=turn.text,
                key=keys[position],
                layer=layer,
                role=role_of(turn.speaker),
                author=turn.speaker,
                context=_context(session.began_at, before),
                source=source,
                session_id=session.id,
                metadata=_metadata(session, turn),
                occurred_at=_occurred_at(session.began_at, turn.index),
                links=tuple(DraftLink(key, "next") for key in keys[position + 1 : position + 2]),
            ),
        )


def role_of(speaker: str) -> Role | None:
    """The role a speaker is named by, as in ``assistant`` or ``User``; None for a person's name."""
    name = speaker.strip().casefold()
    return cast(Role, name) if name in get_args(Role) else None


def _context(began_at: datetime | None, before: Turn | None) -> str:
    lines = [in_words(began_at)] if began_at else []
    return "\n".join([*lines, f"{before.speaker}: {before.text}"] if before else lines)


def _occurred_at(began_at: datetime | None, index: int) -> datetime | None:
    try:
        return began_at and began_at + timedelta(seconds=index)
    except OverflowError:
        return began_at


def _metadata(session: Session, turn: Turn) -> dict[str, str | int]:
    if session.number is None:
        return {}
    return {"sample_id": session.sample, "dia_id": turn.id, "session": session.number}
