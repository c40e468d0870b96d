"""Chat transcripts in LoCoMo's JSON format or as a list of role and content: one draft for each turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast, get_args

from pgrecall.errors import InvalidInput
from pgrecall.importers.dates import in_words, parse_spoken
from pgrecall.importers.draft_checks import bad_character, checked
from pgrecall.importers.files import require_file, show
from pgrecall.importers.json_records import load_json
from pgrecall.models.import_export import Problem
from pgrecall.models.memories import Draft, DraftLink, Role

_HINT = "A transcript is one JSON value. For one record per line, name the file .jsonl."
_SESSION = re.compile(r"session_([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. ``index`` is its position in the session, from 0; ``place`` locates it in a Problem."""

    id: str
    speaker: str
    text: str
    index: int
    place: str


@dataclass(frozen=True, slots=True)
class Session:
    """The turns of one session. ``number`` is None for a conversation without sessions."""

    sample: str
    number: int | None
    began_at: datetime | None
    turns: Sequence[Turn]

    @property
    def id(self) -> str:
        return self.sample if self.number is None else f"{self.sample}/session_{self.number}"


def read_transcript(
    path: Path, *, source: str, prefix: str = "", layer: str = "episodic"
) -> Iterator[Draft | Problem]:
    """Reads each turn as a draft. The file, possibly ``.gz``, contains one JSON value and is read as a whole.

    LoCoMo's format: one sample or a list of them, ``{"sample_id": …, "conversation": {"session_1":
    [{"speaker", "dia_id", "text", "blip_caption"?}, …], "session_1_date_time": "1:56 pm on 8 May,
    2023"}}``. The key of a turn is ``sample_id/dia_id``; its time is that of the
    session plus one second for each turn, in UTC.

    Plain chat: a list of ``{"role", "content"}``, or an object with that list as ``messages``. A key is the
    file name and the number of the message, from 1.

    Raises:
        InvalidInput: the file is not JSON or has neither format.
    """
    require_file(path)
    value = load_json(path, "a transcript", _HINT)
    sessions = _plain(value, path) if _is_plain(value) else _samples(value, path)
    return _read(sessions, path, source, prefix, layer)


def _read(
    sessions: Iterator[Session | Problem], path: Path, source: str, prefix: str, layer: str
) -> Iterator[Draft | Problem]:
    seen: set[str | None] = set()
    for session in sessions:
        if isinstance(session, Problem):
            yield session
            continue
        for place, draft in _drafts(session, source=source, prefix=prefix, layer=layer):
            if draft.key in seen:
                yield Problem(show(path), f"{place}: key {draft.key!r} is already used.")
            else:
                seen.add(draft.key)
                yield checked(draft, show(path), place)


def _samples(value: Any, path: Path) -> Iterator[Session | Problem]:
    samples = value if isinstance(value, list) else [value]
    if not isinstance(value, list | dict) or not any(
        isinstance(s, dict) and "conversation" in s for s in samples
    ):
        raise InvalidInput(
            f"{show(path)} contains no conversation.",
            hint="Expected samples with sample_id and conversation, or a list of role and content.",
        )
    return (
        found for number, sample in enumerate(samples, start=1) for found in _sample(sample, number, path)
    )


def _sample(sample: Any, number: int, path: Path) -> Iterator[Session | Problem]:
    name = sample.get("sample_id") if isinstance(sample, dict) else None
    conversation = sample.get("conversation") if isinstance(sample, dict) else None
    if not isinstance(name, str) or not name:
        yield Problem(show(path), f"sample {number}: sample_id must be a string.")
    elif not isinstance(conversation, dict):
        yield Problem(show(path), f"sample {name}: conversation must be an object.")
    else:
        numbers = sorted({int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key))})
        for session in numbers:
            yield from _session(conversation, name, session, path)


def _session(
    conversation: dict[str, Any], sample: str, number: int, path: Path
) -> Iterator[Session | Problem]:
    place = f"sample {sample}, session {number}"
    found = conversation.get(f"session_{number}")
    if not isinstance(found, list):
        yield Problem(show(path), f"{place}: must be a list of turns.")
        return
    began_at: datetime | None = None
    try:
        began_at = parse_spoken(_text(conversation.get(f"session_{number}_date_time"), "the session's date"))
    except ValueError as error:
        yield Problem(show(path), f"{place}: {error}; its turns have no time.")
    turns: list[Turn] = []
    for index, turn in enumerate(found):
        try:
            turns.append(_turn(turn, index, f"{place}, turn {index + 1}"))
        except ValueError as error:
            yield Problem(show(path), f"{place}, turn {index + 1}: {error}.")
    yield Session(sample, number, began_at, turns)


def _turn(value: Any, index: int, place: str) -> Turn:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    text, caption = value.get("text"), value.get("blip_caption")
    texts = [] if caption and text in (None, "") else [_text(text, "text")]
    if caption:
        texts.append(f"[image: {_text(caption, 'blip_caption')}]")
    return Turn(
        _text(value.get("dia_id"), "dia_id"),
        _text(value.get("speaker"), "speaker"),
        " ".join(texts),
        index,
        place,
    )


def _text(value: Any, name: str) -> str:
    if value is None:
        raise ValueError(f"{name} is missing")
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string")
    if not value.strip():
        raise ValueError(f"{name} is empty")
    if fault := bad_character(value):
        raise ValueError(f"{name} {fault}")
    return value.strip()


def _is_plain(value: Any) -> bool:
    messages = value.get("messages") if isinstance(value, dict) else value
    return isinstance(messages, list) and any(isinstance(m, dict) and "role" in m for m in messages)


def _plain(value: Any, path: Path) -> Iterator[Session | Problem]:
    messages = value["messages"] if isinstance(value, dict) else value
    name = show(Path(path.name.removesuffix(".gz").removesuffix(".json")))
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        place = f"message {index + 1}"
        try:
            turns.append(Turn(str(index + 1), *_message(message), index, place))
        except ValueError as error:
            yield Problem(show(path), f"{place}: {error}.")
    yield Session(name, None, None, turns)


def _message(value: Any) -> tuple[str, str]:
    """The role and text of a message. Its content is a string or a list of parts."""
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    content = value.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "\n".join(part for part in parts if isinstance(part, str))
    return _text(value.get("role"), "role"), _text(content, "content")


def _drafts(session: Session, *, source: str, prefix: str, layer: str) -> Iterator[tuple[str, Draft]]:
    """The place and draft of each turn, linked ``next`` to the following turn of the session.

    Turns are one second apart, which preserves their order. The context is the date in words and the previous
    turn.
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
    """The role if the speaker's name is one, such as ``assistant`` or ``User``; None for a person's name."""
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
