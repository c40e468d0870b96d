"""What changed lately, for a block of a context that needs no query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import timedelta

from pgrecall.nouns.memories.models import DIRECTIVES, ListedMemory
from pgrecall.nouns.search.models import Hit, SearchFilter, SearchRequest
from pgrecall.search.conversations import with_turns

READ, KEPT = 40, 10
"""How many of the newest memories are read, and how many of these may be shown."""

LATELY = timedelta(days=30)
"""How far before the newest of them; a memory that rests for a year has no state to tell."""

_NO_STATE = (*DIRECTIVES, "question", "acknowledgement")


def filter_of(request: SearchRequest) -> SearchFilter:
    """The filters of a search alone."""
    return SearchFilter(**{one.name: getattr(request, one.name) for one in fields(SearchFilter)})


def lately_changed(
    newest: Sequence[ListedMemory], request: SearchRequest, hits: Sequence[Hit]
) -> tuple[Hit, ...]:
    """Those of the newest memories that tell of a state: no questions, thanks, directives or turns of the
    conversation. A hit stays as it was found; others have no relevance and no rank."""
    said = {turn.content for turn in with_turns(request).conversation or ()}
    found = {hit.id: hit for hit in hits}
    telling = [one for one in newest if one.speech_act not in _NO_STATE and one.body not in said]
    lately = [one for one in telling if one.happened_at >= telling[0].happened_at - LATELY]
    return tuple(found.get(one.id) or _as_hit(one) for one in lately[:KEPT])


def _as_hit(listed: ListedMemory) -> Hit:
    return Hit(
        id=listed.id,
        key=listed.key,
        layer=listed.layer,
        title=listed.title,
        body=listed.body,
        role=listed.role,
        author=listed.author,
        tags=listed.tags,
        happened_at=listed.happened_at,
        score=0.0,
        relevance=0.0,
        vitality=listed.vitality,
        zone=listed.zone,
        rank=0,
        speech_act=listed.speech_act,
    )
