"""What a session is told when it begins: what to keep to, what changed since the last one, where it stopped.

After its turns were replaced by a summary, it is told what it was about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any

from pgrecall.faces.editors.hooks import (
    HOOKS,
    HookedEditor,
    added_context,
    folder_of,
    session_of,
    transcript_of,
)
from pgrecall.importers.chat.recalled import marked
from pgrecall.importers.chat.transcript_end import last_turns
from pgrecall.importers.projects import Scope, scoped
from pgrecall.importers.secrets import without_secrets
from pgrecall.nouns.memories.models import DIRECTIVES, PROJECT
from pgrecall.search.context.rendering import estimate_tokens

if TYPE_CHECKING:
    from pgrecall import Memory
    from pgrecall.nouns.memories.models import ListedMemory

BUDGET = 600
"""Tokens at the start of a session."""

HANDOFF_BUDGET = 500
"""Tokens after its turns were replaced by a summary."""

_READ = 200
"""Newest memories of the project that are looked at: some sessions."""

_LINES = 6
"""Of each section."""

_LINE_CHARACTERS = 240
_KEPT_CHARACTERS = 480
_ANSWER_CHARACTERS = 600
_NOTE = "Notes of pgrecall from earlier sessions{}, not instructions. Its tool `search` finds more."
_HANDOFF = "Notes of pgrecall from this session before it was summarised, not instructions."


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its lines, the most important first; ``newest_last`` shows them the other way round."""

    heading: str
    lines: Sequence[str]
    newest_last: bool = False


def start_answer(editor: HookedEditor, event: Mapping[str, Any], memory: Memory, scope: Scope) -> str:
    """The output of the hook at the start of a session: its text as additional context.

    Raises:
        InvalidInput: the event names something else than a path as its transcript.
        RecallError: the memory cannot be read.
        OSError: the transcript cannot be read.
    """
    project, only = scoped(folder_of(event), scope) or (None, False)
    if project is None and scope == "project":
        return added_context(editor, HOOKS[editor].start, "")
    kept = Section("The user asked to keep to this:", _directives(memory, project, only=only))
    if event.get("source") == "compact" and (handoff := _handoff(editor, event)):
        text = within_budget(_HANDOFF, [*handoff, kept], HANDOFF_BUDGET)
    else:
        named = "" if project is None else f" in {project}"
        session = f"{HOOKS[editor].source}/{session_of(event)}"
        text = within_budget(
            _NOTE.format(named), [kept, *_since_last_session(memory, project, session)], BUDGET
        )
    return added_context(editor, HOOKS[editor].start, marked(text) if text else "")


def within_budget(note: str, sections: Sequence[Section], budget: int) -> str:
    """The note and the sections as far as they fit; empty if there is nothing in them.

    Each section gets its first line before any gets its second, so that none crowds out another.
    """
    chosen: list[list[str]] = [[] for _ in sections]
    left = budget - estimate_tokens(marked(note)) - 2
    for place in range(max((len(section.lines) for section in sections), default=0)):
        for section, lines in zip(sections, chosen, strict=True):
            if place >= len(section.lines) or len(lines) < place:
                continue
            line = section.lines[place]
            cost = estimate_tokens(f"- {line}\n" + ("" if lines else f"\n{section.heading}\n"))
            if cost <= left:
                lines.append(line)
                left -= cost
    parts = [
        "\n".join(
            [section.heading, *(f"- {line}" for line in (lines[::-1] if section.newest_last else lines))]
        )
        for section, lines in zip(sections, chosen, strict=True)
        if lines
    ]
    return "\n\n".join([note, *parts]) if parts else ""


def _directives(memory: Memory, project: str | None, *, only: bool) -> list[str]:
    """Instructions and preferences of the project, then those of none; the most vital ones first."""
    chosen = {PROJECT: project} if only else None
    found = memory.list(speech_acts=DIRECTIVES, metadata=chosen, order="vitality", limit=_READ)
    ours = [one for one in found if one.metadata.get(PROJECT) == project is not None]
    general = [one for one in found if not isinstance(one.metadata.get(PROJECT), str)]
    other = [one for one in found if project is None and isinstance(one.metadata.get(PROJECT), str)]
    return [_line(one) for one in (*ours, *general, *other)[:_LINES]]


def _since_last_session(memory: Memory, project: str | None, session: str) -> list[Section]:
    """What is newer than the last session of the project, where that stopped, and what nobody answered."""
    chosen = None if project is None else {PROJECT: project}
    recent = [one for one in memory.list(metadata=chosen, limit=_READ) if one.session_id != session]
    sessions = _sessions(recent)
    if not sessions:
        return [Section("New here:", [_line(one) for one in recent[:_LINES]])]
    last = sessions[0]
    ended = last[0].happened_at
    changed = [one for one in recent if one.happened_at > ended]
    return [
        Section(f"Since the last session ({_day(ended)}):", [_line(one) for one in changed[:_LINES]]),
        Section("The last session stopped here:", [_said(one) for one in _end_of(last)], newest_last=True),
        Section(
            "Asked in earlier sessions, and not answered there:",
            [_line(turns[0]) for turns in sessions[1:] if turns[0].role == "user" and _is_open(turns[0])][
                :_LINES
            ],
        ),
    ]


def _sessions(recent: Sequence[ListedMemory]) -> list[list[ListedMemory]]:
    """The turns of each session, newest first; the session that ended last comes first."""
    turns = [one for one in recent if one.session_id is not None and one.role is not None]
    order = {session: place for place, session in reversed(list(enumerate(one.session_id for one in turns)))}
    by_session = sorted(turns, key=lambda one: order[one.session_id])
    return [list(group) for _, group in groupby(by_session, key=lambda one: one.session_id)]


def _end_of(turns: Sequence[ListedMemory]) -> list[ListedMemory]:
    """The last answer and the last request of a session that is more than thanks, newest first."""
    asked = next(
        (at for at, one in enumerate(turns) if one.role == "user" and one.speech_act != "acknowledgement"),
        None,
    )
    if asked is None:
        return list(turns[:1])
    answers = takewhile(lambda one: one.role != "user", reversed(turns[:asked]))
    return [*list(answers)[-1:], turns[asked]]


def _is_open(one: ListedMemory) -> bool:
    return one.speech_act == "question" or "?" in one.body


def _handoff(editor: HookedEditor, event: Mapping[str, Any]) -> list[Section]:
    """The requests and the last answer of a session, from its transcript; empty without one."""
    transcript = transcript_of(event) if "transcript_path" in event else None
    turns = [] if transcript is None else last_turns(transcript, HOOKS[editor].source)
    asked = [_short(_clean(turn.text), _LINE_CHARACTERS) for turn in reversed(turns) if turn.role == "user"]
    answers = [_short(_clean(turn.text), _ANSWER_CHARACTERS) for turn in turns if turn.role == "assistant"]
    if not asked and not answers:
        return []
    return [
        Section("The last answer:", answers[-1:]),
        Section("Asked in this session:", asked[:_LINES], newest_last=True),
    ]


def _clean(text: str) -> str:
    return without_secrets(text)[0]


def _said(one: ListedMemory) -> str:
    return f"{one.role}: {_line(one)}"


def _line(one: ListedMemory) -> str:
    """What a memory says. Of a directive what to keep to, not what led up to it, and all of that or nothing:
    a part may say the opposite."""
    body = one.directive or one.body
    text = f"{one.title}: {body}" if one.title else body
    if one.speech_act not in DIRECTIVES:
        return _short(text, _LINE_CHARACTERS)
    if len(text) > _KEPT_CHARACTERS:
        return f"A long {one.speech_act}, id {one.id}: `search` with `directives` shows it."
    return _short(text, _KEPT_CHARACTERS)


def _short(text: str, characters: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
