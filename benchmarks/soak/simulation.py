"""A simulation of tenants: imports, agents at work, people who tidy up, and the jobs."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import psycopg

from pgrecall import Draft, DraftLink, InvalidInput, Memory
from pgrecall.jobs.catalogue import JOBS

TICK = timedelta(minutes=10)
"""Simulated time between two checks for due events."""

LAYERS = ("knowledge", "episodic", "episodic", "activity", "activity", "entity")
TOPICS = (
    "harbour",
    "ledger",
    "garden",
    "engine",
    "lecture",
    "voyage",
    "recipe",
    "contract",
    "bridge",
    "choir",
)
PRUNE_TICKS = 12


@dataclass
class Life:
    """The events of each tick. ``clock`` is the simulated time; the random numbers are seeded."""

    memory: Memory
    connection: psycopg.Connection[dict[str, Any]]
    tenants: tuple[str, ...]
    clock: datetime
    memories: int
    ticks: int
    seconds: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    stored: int = 0
    turn: int = 0

    def __post_init__(self) -> None:
        self._chance = random.Random(7)
        self._clients = [self.memory.for_tenant(tenant) for tenant in self.tenants]
        self._due = {job.name: self.clock for job in JOBS if not (job.by_hand or job.backs_up or job.follows)}
        self._minutes = {setting.name: setting.value for setting in self.memory.settings.list()}

    def tick(self) -> None:
        """Ten simulated minutes."""
        self.turn += 1
        share = self.memories * self.turn // self.ticks - self.stored
        for place, client in enumerate(self._clients):
            many = share // len(self._clients) + (place < share % len(self._clients))
            self._import(client, many)
            self._sessions(client)
            if self.turn % PRUNE_TICKS == place % PRUNE_TICKS:
                self._prune(client)
        self._work()
        self.clock += TICK

    def _import(self, client: Memory, many: int) -> None:
        """New notes and turns, some with a short time to live, some with existing keys."""
        for begin in range(0, many, 100):
            drafts = [self._draft() for _ in range(min(100, many - begin))]
            client.remember_many({draft.key: draft for draft in drafts}.values(), now=self.clock)
        self.counts["memories"] += many

    def _draft(self) -> Draft:
        chance, number = self._chance, self.stored
        self.stored += 1
        words = " ".join(chance.choices(TOPICS, k=8))
        known = max(0, number - 2000)
        links = tuple(
            DraftLink(f"k{chance.randrange(known, number + 20)}") for _ in range(chance.randrange(3))
        )
        return Draft(
            f"{words} {number} of {number % 997}",
            key=f"k{number}" if chance.random() < 0.97 else f"k{chance.randrange(known, number + 1)}",
            title=f"{chance.choice(TOPICS)} {number}",
            layer=chance.choice(LAYERS),
            # Mostly months old, like imported memories: some of them will be pruned.
            occurred_at=self.clock - timedelta(days=chance.expovariate(1 / 60)),
            expires_at=self.clock + timedelta(hours=2) if chance.random() < 0.05 else None,
            links=links,
        )

    def _sessions(self, client: Memory) -> None:
        """An agent searches, uses what helps, rejects what does not, and links related memories."""
        session = f"session {self.turn // 3}"
        for _ in range(3):
            question = f"{self._chance.choice(TOPICS)} {self._chance.choice(TOPICS)}"
            began = time.perf_counter()
            found = client.search(question, k=8, now=self.clock, session_id=session, explain=False)
            self.seconds.append(time.perf_counter() - began)
            ids = [hit.id for hit in found.hits]
            search = self._shown(client.tenant, ids, session, question)
            if len(ids) > 3:
                client.used(search, ids[:2], now=self.clock)
                client.rejected(search, ids[3], now=self.clock)
                client.link(ids[0], ids[2], "mentions", now=self.clock)
            self.counts["searches"] += 1
        client.context(self._chance.choice(TOPICS), budget_tokens=400, now=self.clock, session_id=session)
        if len(ids) > 7:
            self._replace(client, ids[6], ids[7])

    def _shown(self, tenant: str, ids: list[int], session: str, question: str) -> int:
        """Logs a search at the simulated time; the client does not log searches for another moment."""
        with self.connection.transaction():
            self.connection.execute("SELECT set_config('recall.tenant', %s, true)", (tenant,))
            logged = "SELECT recall.log_shown(%s, %s, %s, %s) AS search"
            [row] = self.connection.execute(logged, (ids, session, self.clock, question)).fetchall()
        return int(row["search"])

    def _replace(self, client: Memory, old: int, new: int) -> None:
        try:
            client.supersede(old, new, now=self.clock)
            self.counts["superseded"] += 1
        except InvalidInput:
            return  # it would supersede itself
        if self._chance.random() < 0.1:
            client.forget(old, hard=True, now=self.clock)
            self.counts["forgotten"] += 1

    def _prune(self, client: Memory) -> None:
        """A plan that is reviewed and applied; one in three is undone."""
        plan = client.plans.prune(grace_days=0, now=self.clock)
        client.plans.get(plan.id, limit=20)
        outcome = client.plans.apply(plan.id, now=self.clock)
        self.counts["pruned"] += len(outcome.archived)
        if self._chance.random() < 1 / 3:
            client.plans.undo(plan.id, now=self.clock)
            self.counts["undone"] += 1

    def _work(self) -> None:
        """Every job that is due by the simulated clock, for all tenants, as the worker runs it."""
        for name, due in self._due.items():
            minutes = self._minutes[f"job.{name}.minutes"]
            if due <= self.clock and minutes > 0:
                for outcome in self.memory.jobs.run(name, all_tenants=True, now=self.clock):
                    self.counts[f"{name} {outcome.state}"] += 1
                self._due[name] = self.clock + timedelta(minutes=minutes)
