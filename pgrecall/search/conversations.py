"""The turns of a conversation that comes with a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast, get_args

from pgrecall.errors import InvalidInput
from pgrecall.nouns.memories.models import Role
from pgrecall.nouns.search.models import ConversationTurn, SearchRequest

MAX_TURNS = 100
"""Maximum number of turns, as in ``recall.completed_query``."""

_QUOTED_TURNS, _QUOTED_CHARACTERS = 12, 1_000
"""What a language model reads of a conversation: its last turns, and the beginning of each."""

_FORM = 'Write a turn as {"role": "user", "content": "..."}; roles are user, assistant, system and tool.'


def read_turns(
    conversation: Iterable[ConversationTurn | Mapping[str, object]],
) -> tuple[ConversationTurn, ...]:
    """The turns of a conversation, oldest first; other fields of a message are ignored.

    Raises:
        InvalidInput: one has no role and content, or there are more than 100.
    """
    if not isinstance(conversation, Iterable):
        raise InvalidInput(f"The conversation is {conversation!r:.100}, not a list of turns.", hint=_FORM)
    turns = tuple(_turn(given, number) for number, given in enumerate(conversation, start=1))
    if len(turns) > MAX_TURNS:
        raise InvalidInput(
            f"The conversation has {len(turns)} turns, more than {MAX_TURNS}.", hint="Give its last turns."
        )
    return turns


def with_turns(request: SearchRequest) -> SearchRequest:
    """The request with the turns of its conversation, which may be given as mappings.

    Raises:
        InvalidInput: as ``read_turns``.
    """
    if request.conversation is None:
        return request
    return replace(request, conversation=read_turns(request.conversation))


def quoted_turns(turns: Sequence[ConversationTurn]) -> list[tuple[str, str]]:
    """The last turns for a language model, each after who says it, and the day if it is known."""
    return [
        (
            f"turn of the {turn.role}" + (f" on {turn.at:%Y-%m-%d}" if turn.at else ""),
            turn.content[:_QUOTED_CHARACTERS],
        )
        for turn in turns[-_QUOTED_TURNS:]
    ]


def _turn(given: object, number: int) -> ConversationTurn:
    if isinstance(given, Mapping):  # its values are checked below
        role, content, at = (given.get(name) for name in ("role", "content", "at"))
        given = ConversationTurn(cast(Role, role), cast(str, content), cast("datetime | None", at))
    if not isinstance(given, ConversationTurn) or not given.role or not isinstance(given.content, str):
        raise InvalidInput(f"Turn {number} of the conversation has no role and content.", hint=_FORM)
    if given.role not in get_args(Role):
        raise InvalidInput(f"Turn {number} of the conversation has the role {given.role!r:.40}.", hint=_FORM)
    return given if given.at is None else replace(given, at=_time(given.at, number))


def _time(given: object, number: int) -> datetime:
    """The time, in UTC unless it has a zone."""
    try:
        read = given if isinstance(given, datetime) else datetime.fromisoformat(cast(str, given))
        return read if read.tzinfo else read.replace(tzinfo=UTC)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"Turn {number} of the conversation is of {given!r:.40}, which is no time.",
            hint="Write its time as 2026-11-29T18:00:00Z, or leave it out.",
        ) from error
