"""Transcripts in LoCoMo's JSON format: samples with numbered sessions of dated turns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.turns import Conversation, Turn, role_of
from pgrecall.importers.dates import parse_spoken
from pgrecall.importers.draft_checks import required_text
from pgrecall.importers.files import OTHER_CHATS, printable_path
from pgrecall.nouns.imports.report import Problem

_SESSION = re.compile(r"session_([0-9]{1,9})")


def is_locomo(value: object) -> bool:
    """Whether a JSON value contains a sample."""
    samples = value if isinstance(value, list) else [value]
    return any(isinstance(sample, dict) and "conversation" in sample for sample in samples)


def read_locomo(value: Any, path: Path) -> Iterator[Conversation | Problem]:
    """One conversation for each session.

    The format: ``{"sample_id": …, "conversation": {"session_1": [{"speaker", "dia_id", "text",
    "blip_caption"?}, …], "session_1_date_time": "1:56 pm on 8 May, 2023"}}``. The key of a turn is
    ``sample_id/dia_id``; its time is that of the session plus one second for each turn, in UTC, which
    preserves their order.

    Raises:
        InvalidInput: the value contains no sample.
    """
    if not is_locomo(value):
        raise InvalidInput(
            f"{printable_path(path)} contains no conversation.",
            hint="Expected an export of ChatGPT or Claude, a list of role and content, or LoCoMo's samples. "
            + OTHER_CHATS,
        )
    samples = value if isinstance(value, list) else [value]
    return (
        found for number, sample in enumerate(samples, start=1) for found in _sample(sample, number, path)
    )


def _sample(sample: Any, number: int, path: Path) -> Iterator[Conversation | Problem]:
    name = sample.get("sample_id") if isinstance(sample, dict) else None
    conversation = sample.get("conversation") if isinstance(sample, dict) else None
    if not isinstance(name, str) or not name:
        yield Problem(printable_path(path), f"sample {number}: sample_id must be a string.")
    elif not isinstance(conversation, dict):
        yield Problem(printable_path(path), f"sample {name}: conversation must be an object.")
    else:
        numbers = sorted({int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key))})
        if not numbers:
            yield Problem(printable_path(path), f"sample {name}: conversation has no session_1.")
        seen: set[str] = set()
        user = _user(conversation)
        for session in numbers:
            for found in _session(conversation, name, session, path, seen):
                if isinstance(found, Conversation) and user is not None:
                    found = replace(found, turns=[_of_user(turn, user) for turn in found.turns])
                yield found


def _of_user(turn: Turn, user: str) -> Turn:
    return replace(turn, role="user") if turn.author == user else turn


def _user(conversation: dict[str, Any]) -> str | None:
    """The only speaker beside an assistant; None among several people, or without an assistant."""
    turns = (turn for value in conversation.values() if isinstance(value, list) for turn in value)
    speakers = (turn.get("speaker") for turn in turns if isinstance(turn, dict))
    names = {speaker for speaker in speakers if isinstance(speaker, str)}
    others = {name for name in names if role_of(name) is None}
    return others.pop() if len(others) == 1 and any(role_of(name) == "assistant" for name in names) else None


def _session(
    conversation: dict[str, Any], sample: str, number: int, path: Path, seen: set[str]
) -> Iterator[Conversation | Problem]:
    place = f"sample {sample}, session {number}"
    found = conversation.get(f"session_{number}")
    if not isinstance(found, list):
        yield Problem(printable_path(path), f"{place}: must be a list of turns.")
        return
    began_at: datetime | None = None
    try:
        began_at = parse_spoken(
            required_text(conversation.get(f"session_{number}_date_time"), "the session's date")
        )
    except ValueError as error:
        yield Problem(printable_path(path), f"{place}: {error}; its turns have no time.")
    turns: list[Turn] = []
    for index, value in enumerate(found):
        try:
            turn = _turn(value, sample, number, index, began_at)
            if turn.key in seen:
                raise ValueError(f"key {turn.key!r} is already used")
        except ValueError as error:
            yield Problem(printable_path(path), f"{place}, turn {index + 1}: {error}.")
        else:
            seen.add(turn.key)
            turns.append(turn)
    yield Conversation(f"{sample}/session_{number}", turns, day=began_at)


def _turn(value: Any, sample: str, session: int, index: int, began_at: datetime | None) -> Turn:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    text, caption = value.get("text"), value.get("blip_caption")
    texts = [] if caption and text in (None, "") else [required_text(text, "text")]
    if caption:
        texts.append(f"[image: {required_text(caption, 'blip_caption')}]")
    name, speaker = (
        required_text(value.get("dia_id"), "dia_id"),
        required_text(value.get("speaker"), "speaker"),
    )
    return Turn(
        key=f"{sample}/{name}",
        author=speaker,
        text=" ".join(texts),
        place=f"sample {sample}, session {session}, turn {index + 1}",
        role=role_of(speaker),
        at=_occurred_at(began_at, index),
        metadata={"sample_id": sample, "dia_id": name, "session": session},
    )


def _occurred_at(began_at: datetime | None, index: int) -> datetime | None:
    try:
        return began_at and began_at + timedelta(seconds=index)
    except OverflowError:
        return began_at
