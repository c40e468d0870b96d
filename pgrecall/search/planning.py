"""Planning a search with a language model: what a query needs, asked once for each turn of a conversation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from typing import Any

from pydantic import Field

from pgrecall.errors import LanguageModelError
from pgrecall.nouns.memories.models import Role
from pgrecall.nouns.search.models import ConversationTurn
from pgrecall.nouns.search.plan import Need, SearchPlan, Wants
from pgrecall.search.conversations import quoted_turns
from pgrecall.search.foreign_words import in_one_line
from pgrecall.search.language_model import Answer, LanguageModel
from pgrecall.search.needs import NEEDS

MAX_QUERIES = 4
_QUERY_CHARACTERS = 2_000
_ITEMS = 10  # of each list of an answer, as its schema says: a small model would not end
_KEPT = 256
"""Plans that are kept, the latest: a turn is often searched several times."""

_TASK = (
    "You plan a search in an assistant's memory: short texts with the role of who said them. Read the query "
    "as the conversation makes it understood, and say:\n"
    "queries: up to 4 further searches that together find what the answer needs: its parts, other words, or "
    "each reading of an ambiguous query. Each makes sense without the conversation. None if the query is "
    "enough.\n"
    f"needs: {'; '.join(f'{need}, if {effect.when}' for need, effect in NEEDS.items())}. None, mostly.\n"
    "roles: only if it asks for what a certain role said.\n"
    "since, until: first day, and first day after it, of a period that the query names; null if it names "
    "none or you cannot know its dates.\n"
    "wants: list, if it asks for several things, else fact."
)


class _Planned(Answer):
    needs: list[Need] = Field(default_factory=list, max_length=_ITEMS)
    queries: list[str] = Field(default_factory=list, max_length=_ITEMS)
    roles: list[Role] = Field(default_factory=list, max_length=_ITEMS)
    since: date | None = None
    until: date | None = None
    wants: Wants = "fact"


class Planner:
    """Plans searches; threads may share it. The model is closed by whoever made it."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._plans = OrderedDict[tuple[Any, ...], SearchPlan]()
        self._lock = threading.Lock()

    def plan(self, query: str, turns: Sequence[ConversationTurn], today: date | None) -> SearchPlan:
        """The plan for a query after these turns; the same question is asked only once.

        Args:
            query: the query.
            turns: the turns before it, oldest first.
            today: the day of the search, by which a period such as "last week" is understood; None: unknown.

        Raises:
            LanguageModelError: the model failed, or returned something that is no plan.
        """
        quoted = [*quoted_turns(turns), ("query", query[:_QUERY_CHARACTERS])]
        if today is not None:
            quoted.append(("today", today.isoformat()))
        question = tuple(quoted)
        with self._lock:
            if question in self._plans:
                self._plans.move_to_end(question)
                return self._plans[question]
        plan = _read(self._model.ask(_Planned, _TASK, quoted), query)
        with self._lock:
            self._plans[question] = plan
            while len(self._plans) > _KEPT:
                self._plans.popitem(last=False)
        return plan


def _read(planned: _Planned, query: str) -> SearchPlan:
    since, until = _midnight(planned.since), _midnight(planned.until)
    if since is not None and until is not None and since >= until:
        raise LanguageModelError(
            f"The language model planned a period that ends on {planned.until}, before it begins.",
            hint="Search without a plan, or give the period.",
        )
    lines = (in_one_line(text) for text in planned.queries)
    queries = dict.fromkeys(line for line in lines if line and line != query.strip())
    return SearchPlan(
        tuple(dict.fromkeys(planned.needs)),
        tuple(queries)[:MAX_QUERIES],
        tuple(dict.fromkeys(planned.roles)),
        since,
        until,
        planned.wants,
    )


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC)
