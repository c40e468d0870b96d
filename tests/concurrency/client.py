"""One of many clients that do everything at once, and what each was acknowledged."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg

from tests.concurrency.crowd import Connection, call, connected

# Not those of the suite's ground, which is long to load: each process loads this.
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
MEMORIES, REPLACED, GROUP = 24, 6, 8
BIRTH = NOW - timedelta(days=200)
KINDS = ("read", "used", "reference", "retrieval")
REFUSED = (psycopg.errors.InvalidParameterValue, psycopg.errors.NoDataFound)
"""What may be said no to: a circle of successors, a plan that another applied, a memory just forgotten."""


@dataclass
class Told:
    """What was acknowledged: accesses as (memory, kind, at, session), keys as told new or not, and counts."""

    accesses: list[tuple[int, str, datetime, str | None]] = field(default_factory=list)
    keys: list[tuple[str, bool]] = field(default_factory=list)
    links: list[tuple[int, int, str, bool]] = field(default_factory=list)
    bodies: dict[int, list[str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    halves: list[str] = field(default_factory=list)
    deadlocks: int = 0


class Client:
    """Does what chance says until the time is over."""

    def __init__(self, connection: Connection, number: int, memories: list[int]) -> None:
        self.connection, self.number, self.memories = connection, number, memories
        self.chance = random.Random(number)
        self.told = Told()
        self.began = time.monotonic()
        self.last = 0

    def now(self) -> datetime:
        """A moment that no other client names, and this one only once."""
        self.last = max(self.last + 1, int((time.monotonic() - self.began) * 10_000))
        return NOW + timedelta(microseconds=self.last * 100 + self.number)

    def work(self, seconds: float) -> Told:
        actions = [
            self.use, self.use, self.repeat, self.rewrite, self.link, self.supersede, self.search,
            self.replace, self.pass_by, self.look, self.look, self.plan, self.fold, self.maintain,
        ]  # fmt: skip
        while time.monotonic() - self.began < seconds:
            action = self.chance.choice(actions)
            try:
                action()
            except REFUSED:
                self.told.counts["refused"] = self.told.counts.get("refused", 0) + 1
            except psycopg.errors.DeadlockDetected:
                self.told.deadlocks += 1
            self.told.counts[action.__name__] = self.told.counts.get(action.__name__, 0) + 1
        return self.told

    def some(self, many: int) -> list[int]:
        return self.chance.sample(self.memories, many)

    def use(self) -> None:
        """A batch of uses, some of them of earlier moments."""
        now, uses = self.now(), []
        for memory in self.some(3):
            at = self.now() - timedelta(seconds=self.chance.choice([0, 0, 30, 3000, 90_000]))
            session = self.chance.choice([None, "s1", "s2", f"own {self.number}"])
            uses.append((memory, self.chance.choice(KINDS), at, session))
        names = ("memory_id", "kind", "at", "session_id")
        items = json.dumps([dict(zip(names, use, strict=True)) for use in uses], default=str)
        assert call(self.connection, "record_accesses(%s::jsonb, %s)", items, now) == len(uses)
        self.told.accesses += uses

    def repeat(self) -> None:
        """A use that all clients tell, with one key: it counts once, whoever is first."""
        turn = self.chance.randrange(40 + int(20 * (time.monotonic() - self.began)))
        key, memory = f"turn {turn}", self.memories[turn % len(self.memories)]
        at = NOW - timedelta(days=1, seconds=turn)
        new = call(
            self.connection, "record_access(%s, 'used', %s, NULL, %s, %s)", memory, at, key, self.now()
        )
        self.told.keys.append((key, new))
        if new:
            self.told.accesses.append((memory, "used", at, None))

    def rewrite(self) -> None:
        """Several known ones in any order, linked to others; each text is new, so each is a write."""
        now = self.now()
        bodies = dict.fromkeys(self.some(2), f"text {self.number} {self.last}")
        targets = [f"n{self.chance.randrange(MEMORIES)}", f"to come {self.last}"]
        links = [{"target": target} for target in targets]
        drafts = [
            {"key": f"n{self.memories.index(memory)}", "body": body, "links": links}
            for memory, body in bodies.items()
        ]
        rows = self.connection.execute(
            "SELECT id, outcome FROM recall.remember_many(%s::jsonb, p_now => %s)", (json.dumps(drafts), now)
        ).fetchall()
        assert {row["outcome"] for row in rows} <= {"updated", "revived"}
        for row in rows:
            self.told.accesses.append((row["id"], "write", now, None))
            self.told.bodies.setdefault(row["id"], []).append(bodies[row["id"]])

    def link(self) -> None:
        one, two = self.some(2)
        relation = self.chance.choice(["mentions", "implies", "part_of"])
        new = call(self.connection, "link(%s, %s, %s, 1, %s)", one, two, relation, self.now())
        self.told.links.append((one, two, relation, new))

    def supersede(self) -> None:
        one, two = self.some(2)
        call(self.connection, "supersede(%s, %s, %s)", one, two, self.now())

    def search(self) -> None:
        now, session = self.now(), self.chance.choice([None, "s1"])
        rows = self.connection.execute(
            "SELECT id FROM recall.search_and_log(%s, p_now => %s)",
            (
                json.dumps(
                    {"query": self.chance.choice(["text", "note", "text 1"]), "k": 3, "session_id": session}
                ),
                now,
            ),
        ).fetchall()
        shown = [row["id"] for row in rows if row["id"] is not None]
        self.told.accesses += [(one, "retrieval", now, session) for one in shown]

    def replace(self) -> None:
        """A new version of something, in place of the newest, in one transaction."""
        word = f"version{self.chance.randrange(REPLACED)}"
        with self.connection.transaction():
            self.connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (word,))
            newest = "SELECT id FROM recall.search(%s, p_k => 5, p_now => %s)"
            [row] = self.connection.execute(newest, (word, self.now())).fetchall()
            new = call(self.connection, "remember(%s, p_now => %s)", word, self.now())
            call(self.connection, "supersede(%s, %s, %s)", row["id"], new, self.now())

    def pass_by(self) -> None:
        """A memory that others may see, link to by its words, and show; then it is gone for good."""
        draft = [{"body": "note passing", "links": [{"target": f"n{self.chance.randrange(MEMORIES)}"}]}]
        remember = "SELECT id FROM recall.remember_many(%s::jsonb, p_now => %s)"
        [row] = self.connection.execute(remember, (json.dumps(draft), self.now())).fetchall()
        use = "record_access(%s, 'used', p_session_id => 's1', p_now => %s)"
        call(self.connection, use, row["id"], self.now())
        call(self.connection, "forget(%s, %s, %s)", row["id"], self.chance.random() < 0.7, self.now())

    def look(self) -> None:
        """What is seen is whole: one version, all or nothing of a plan, a successor with its link."""
        word = f"version{self.chance.randrange(REPLACED)}"
        seen = self.connection.execute("SELECT id FROM recall.search(%s, p_k => 5, p_now => %s)",
                                       (word, self.now())).fetchall()  # fmt: skip
        if len(seen) != 1:
            self.told.halves.append(f"{len(seen)} live versions of {word}")
        grouped = (
            "SELECT id FROM recall.search('grouped', p_k => 50, p_layers => ARRAY['group'], p_now => %s)"
        )
        seen = self.connection.execute(grouped, (self.now(),)).fetchall()
        if len(seen) not in (0, GROUP):
            self.told.halves.append(f"{len(seen)} of {GROUP} memories of one plan")
        [row] = self.connection.execute("SELECT superseded_by, links FROM recall.get(%s, %s)",
                                        (self.some(1)[0], self.now())).fetchall()  # fmt: skip
        ways = {(end["other"], end["relation"], end["outgoing"]) for end in row["links"]}
        if row["superseded_by"] is not None and (row["superseded_by"], "supersedes", False) not in ways:
            self.told.halves.append(f"superseded by {row['superseded_by']} without a link")

    def plan(self) -> None:
        """The whole group, or what chance offers; applied, and undone or left to others."""
        layers = self.chance.choice([["group"], ["group"], ["activity"]])
        made = "plan_prune(p_max_share => 1, p_layers => %s, p_now => %s)"
        number = call(self.connection, made, layers, self.now())
        self.connection.execute("SELECT * FROM recall.apply_plan(%s, %s)", (number, self.now()))
        if layers == ["group"] or self.chance.random() < 0.5:
            call(self.connection, "undo_plan(%s, %s)", number, self.now())

    def fold(self) -> None:
        call(self.connection, "fold_accesses(%s)", self.chance.randint(1, 20))

    def maintain(self) -> None:
        """One of the jobs, by chance."""
        match self.chance.randrange(8):
            case 0:
                call(self.connection, "refresh_graph(%s)", self.now())
            case 1:
                call(self.connection, "refresh_vitality(0, 100, %s)", self.now())
            case 2:
                call(self.connection, "refresh_statistics(%s)", self.now())
            case 3:
                call(self.connection, "expire_memories(5, %s)", self.now())
            case 4:
                call(self.connection, "resolve_pending_links()")
            case 5:
                rate = self.chance.choice([2.0, 3.0])
                call(self.connection, "set_layer('activity', %s, p_now => %s)", rate, self.now())
            case 6:
                call(
                    self.connection,
                    "pin(%s, %s, %s)",
                    self.some(1)[0],
                    self.chance.random() < 0.3,
                    self.now(),
                )
            case _:
                call(self.connection, "expire_searches(5, %s)", self.now() + timedelta(days=90))


def run(url: str, number: int, memories: list[int], seconds: float) -> Told:
    """A client over a connection of its own; in a thread or in a process."""
    with connected(url) as connection:
        return Client(connection, number, memories).work(seconds)
