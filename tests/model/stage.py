"""Where acts are played: tenants and the ways to each, a clock, dice, and the comparison."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgrecall.errors import RecallError
from tests.model.book import Book
from tests.model.faces import Client, Sql, Values
from tests.model.http_face import Http, Refused
from tests.model.merging import Plan
from tests.model.noted import Noted
from tests.model.pruning import Pruning

if TYPE_CHECKING:
    from tests.model.judging import Judge

Face = Sql | Client | Http
"""Ways to call pgrecall as one tenant. Times are given, so that a day can be played at once."""

REFUSALS = (psycopg.Error, RecallError, Refused, ValueError)
SQLSTATES = {"22023", "P0002"}
"""What is wrong, and what there is not; both come with a sentence."""


@dataclass
class Reached:
    """One tenant: what the model knows of it, and the ways to it."""

    book: Book
    sql: Sql
    others: Sequence[Face] = ()
    cursor: str | None = None
    """How far the log of changes has been read."""
    merged: Plan | None = None
    """The plan of duplicates that is applied."""
    prunings: dict[int, Pruning] = field(default_factory=dict)

    @property
    def faces(self) -> tuple[Face, ...]:
        return self.sql, *self.others

    @property
    def client(self) -> Client:
        [client] = (face for face in self.others if isinstance(face, Client))
        return client


class Stage:
    """What every act needs."""

    tenants: list[Reached]
    admin: psycopg.Connection[Any]
    """Of a superuser, who reads tables."""
    dice: random.Random
    now: datetime
    words: Sequence[str]
    judge: Judge
    counts: Counter[str]

    def fresh(self, tenant: Reached) -> Values:
        """A draft of something new."""
        raise NotImplementedError

    def one(self, tenant: Reached) -> Noted:
        return self.dice.choice(list(tenant.book.memories.values()))

    def other(self, tenant: Reached) -> Reached:
        return self.dice.choice([each for each in self.tenants if each is not tenant])

    def text(self) -> str:
        return " ".join(self.dice.choices(self.words, k=self.dice.randint(3, 9)))

    def ago(self, longest: timedelta) -> datetime:
        """A moment until now, in whole seconds."""
        return self.now - timedelta(seconds=int(longest.total_seconds() * self.dice.random()))

    def refused(self, call: Callable[..., object], *given: Any) -> None:
        """A call that must be refused with a sentence, and change nothing: the comparison sees to that."""
        with pytest.raises(REFUSALS) as refusal:
            call(*given)
        if isinstance(refusal.value, psycopg.Error):
            assert refusal.value.sqlstate in SQLSTATES, refusal.value
        self.counts["refused"] += 1


Act = Callable[[Any, Reached, Face], None]
