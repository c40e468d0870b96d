"""Clients that change, use and forget the same few memories at once, to look for deadlocks.

A long run by hand: ``python -m tests.concurrency.stress 20000 [first seed]`` uses
a new database of the configured or the embedded server, and tells what it found.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import md5

import psycopg

from tests.concurrency.crowd import Connection, call, connected

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
BIRTH = NOW - timedelta(days=200)
MEMORIES = 10
CLIENTS = 12
REFUSED = (psycopg.errors.InvalidParameterValue, psycopg.errors.NoDataFound)


@dataclass
class Found:
    """What clients did, and the deadlocks and other errors that they ran into: operation and place."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


class Client:
    """Does what chance says, so many times."""

    def __init__(self, connection: Connection, seed: int) -> None:
        self._connection = connection
        self._chance = random.Random(seed)
        self._seed, self._turn = seed, 0
        self.found = Found()

    def work(self, operations: int) -> Found:
        actions: list[Callable[[], None]] = [
            self.forget_for_good, self.forget_for_good, self.forget, self.forget, self.pin, self.pin,
            self.rewrite, self.rewrite, self.rewrite, self.rewrite_one, self.supersede, self.supersede,
            self.link, self.use, self.use, self.converse, self.plan, self.maintain, self.judge, self.replace,
            self.erase, self.edit, self.edit, self.merge, self.restore, self.embed, self.embed, self.search,
            self.bring_back,
        ]  # fmt: skip
        for self._turn in range(operations):
            action = self._chance.choice(actions)
            name = action.__name__
            try:
                action()
            except REFUSED:
                name = "refused"
            except psycopg.DatabaseError as error:
                self.found.errors.append(f"{type(error).__name__} of {name}: {_place(error)}")
            self.found.counts[name] += 1
        return self.found

    def _keys(self, many: int) -> list[str]:
        """Keys in any order; sorted, they are in another order than the ids."""
        return [f"n{place}" for place in self._chance.sample(range(MEMORIES), many)]

    def _one(self) -> int:
        return int(call(self._connection, "id_of(%s)", self._keys(1)[0]))

    def forget_for_good(self) -> None:
        call(self._connection, "forget(%s, true, %s)", self._one(), NOW)

    def forget(self) -> None:
        call(self._connection, "forget(%s, false, %s)", self._one(), NOW)

    def pin(self) -> None:
        call(self._connection, "pin(%s, %s, %s)", self._one(), self._chance.random() < 0.3, NOW)

    def rewrite(self) -> None:
        """Several drafts, linked to others by key and by title; what was forgotten is made anew."""
        drafts = [
            {"key": key, "title": f"Title {key[1:]}", "body": f"text {self._seed} {self._turn}", "links": [
                {"target": self._keys(1)[0]}, {"target": f"title {self._chance.randrange(MEMORIES)}"},
                {"target": f"to come {self._turn % 5}"}]}
            for key in self._keys(3)
        ]  # fmt: skip
        self._remember(drafts)

    def rewrite_one(self) -> None:
        text = "remember(%s, p_key => %s, p_now => %s)"
        call(self._connection, text, f"text {self._seed} {self._turn}", self._keys(1)[0], NOW)

    def edit(self) -> None:
        """A new text or a name that links wait for, with a vector now and then."""
        changes = self._chance.choice([
            {"body": f"text {self._seed} {self._turn}", "author": "Ann"},
            {"title": f"To come {self._turn % 5}"},
            {"aliases": [f"title {self._chance.randrange(MEMORIES)}"], "layer": "activity"}, {"tags": None},
        ])  # fmt: skip
        embedded = None
        if body := changes.get("body"):
            embedded = json.dumps({"content_hash": digest_of(body), "embedding": str([1.0] + [0.0] * 63)})
        text = "edit(%s, %s::jsonb, %s::jsonb, %s, %s)"
        call(self._connection, text, self._one(), json.dumps(changes), embedded, embedded and "model", NOW)

    def replace(self) -> None:
        """New memories with names that links wait for."""
        self._remember([{"title": f"To come {self._turn % 5}", "body": "here", "layer": "activity"}])

    def converse(self) -> None:
        """Turns that follow each other, each with the text of the one before as its context."""
        keys = self._keys(3)
        drafts = [
            {"key": key, "body": f"turn {self._turn}", "author": "Ann", "context": f"Ann: turn {self._turn}",
             "links": [{"target": after, "relation": "next"}]}
            for key, after in zip(keys, keys[1:] + keys[:1], strict=True)
        ]  # fmt: skip
        self._remember(drafts)

    def supersede(self) -> None:
        call(self._connection, "supersede(%s, %s, %s)", self._one(), self._one(), NOW)

    def link(self) -> None:
        relation = self._chance.choice(["mentions", "implies", "co_access"])
        call(self._connection, "link(%s, %s, %s, 1, %s)", self._one(), self._one(), relation, NOW)

    def use(self) -> None:
        items = [{"memory_id": self._one(), "kind": self._chance.choice(["read", "used"]),
                  "session_id": self._chance.choice([None, "s1", "s2"]), "idempotency_key": self._key()}
                 for _ in range(3)]  # fmt: skip
        call(self._connection, "record_accesses(%s::jsonb, %s)", json.dumps(items), NOW)

    def _key(self) -> str | None:
        return f"use {self._chance.randrange(1000)}" if self._chance.random() < 0.5 else None

    def judge(self) -> None:
        shown = [self._one(), self._one()]
        search = call(self._connection, "log_shown(%s, 's1', %s, 'who?')", shown, NOW)
        verdict = self._chance.choice(["used", "rejected"])
        call(self._connection, f"{verdict}(%s, %s, %s)", search, shown[:1], NOW)

    def plan(self) -> None:
        number = call(self._connection, "plan_prune(p_max_share => 1, p_now => %s)", NOW)
        self._connection.execute("SELECT * FROM recall.apply_plan(%s, %s)", (number, NOW))
        if self._chance.random() < 0.5:
            call(self._connection, "undo_plan(%s, %s)", number, NOW)

    def erase(self) -> None:
        subject = json.dumps({"key": f"n{self._chance.randrange(3)}*"})
        number = call(self._connection, "plan_erasure(%s::jsonb, 'Ann', %s)", subject, NOW)
        call(self._connection, "apply_erasure(%s, 'Bram', 2, %s)", number, NOW)

    def merge(self) -> None:
        """Memories of one text, some of them linked, become one; and two again, now and then."""
        drafts = [{"key": key, "title": "", "body": "the same words in both of them", "tags": [key]}
                  for key in self._keys(2)]  # fmt: skip
        self._remember(drafts)
        call(self._connection, "find_duplicates()")
        number = call(self._connection, "plan_dedupe(p_now => %s)", NOW)
        self._connection.execute("SELECT * FROM recall.apply_plan(%s, %s)", (number, NOW))
        if self._chance.random() < 0.5:
            call(self._connection, "undo_plan(%s, %s)", number, NOW)

    def restore(self) -> None:
        """A text that the memory had before."""
        one = self._one()
        text = "SELECT number FROM recall.versions(%s) WHERE replaced_at IS NOT NULL"
        numbers = [row["number"] for row in self._connection.execute(text, (one,)).fetchall()]
        if numbers:
            number = self._chance.choice(numbers)
            call(self._connection, "restore_version(%s, %s, p_now => %s)", one, number, NOW)

    def embed(self) -> None:
        """What the worker does: vectors, token signs and passages of what has none, in any order."""
        text = "SELECT id, length(body) AS length, content_hash FROM recall.unembedded(0, 5, %s)"
        rows = self._connection.execute(text, (self._chance.choice([None, "model"]),)).fetchall()
        vector = str([1.0] + [0.0] * 63)
        items = [
            {**row, "embedding": vector, "tokens": ["x0f", "xf0"],
             "passages": [{"start": 0, "end": row["length"], "embedding": vector}] if row["length"] else []}
            for row in rows
        ]  # fmt: skip
        self._chance.shuffle(items)
        call(self._connection, "store_embeddings(%s::jsonb, 'model')", json.dumps(items))

    def search(self) -> None:
        request = json.dumps({"query": f"text {self._turn}", "k": 4, "session_id": "s1"})
        text = "SELECT * FROM recall.search_and_log(%s::jsonb, p_now => %s)"
        self._connection.execute(text, (request, NOW))

    def bring_back(self) -> None:
        call(self._connection, "unarchive(%s, %s)", self._one(), NOW)

    def maintain(self) -> None:
        match self._chance.randrange(9):
            case 0:
                call(self._connection, "fold_accesses(%s)", self._chance.randint(1, 20))
            case 1:
                call(self._connection, "resolve_pending_links()")
            case 2:
                call(self._connection, "rebuild()")
            case 3:
                call(self._connection, "expire_memories(5, %s)", NOW)
            case 4:
                call(self._connection, "refresh_statistics(%s)", NOW)
            case 5:
                call(self._connection, "refresh_vitality(0, 100, %s)", NOW)
            case 6:
                call(self._connection, "expire_searches(5, %s)", NOW + timedelta(days=90))
            case 7:
                call(self._connection, "expire_changes(5, %s)", NOW + timedelta(days=900))
            case _:
                rate = self._chance.choice([2.0, 3.0])
                call(self._connection, "set_layer('activity', %s, p_now => %s)", rate, NOW)

    def _remember(self, drafts: list[dict[str, object]]) -> None:
        self._connection.execute(
            "SELECT recall.remember_many(%s::jsonb, p_now => %s)",
            (json.dumps(drafts), self._chance.choice([BIRTH, NOW])),
        )


def digest_of(body: str) -> str:
    """The content hash of a memory without a title."""
    return md5(f"\x1f{body}".encode(), usedforsecurity=False).hexdigest()


def _place(error: psycopg.Error) -> str:
    """What it says, and where it waited: the row, and the functions from the inside out."""
    lines = (error.diag.context or "").splitlines()
    places = [line for line in lines if line.startswith(("while", "PL/pgSQL", "SQL function"))]
    return "; ".join([error.diag.message_primary or "", *places])


def stress(url: str, operations: int, clients: int = CLIENTS, first_seed: int = 0) -> Found:
    """So many operations, shared by clients that begin together."""

    def run(seed: int) -> Found:
        with connected(url) as connection:
            return Client(connection, seed).work(operations // clients)

    with connected(url) as connection:
        call(connection, "set_setting('prune.grace_days', 0)")
        drafts = [{"key": f"n{place * 7 % MEMORIES}", "body": "note"} for place in range(MEMORIES)]
        connection.execute("SELECT recall.remember_many(%s::jsonb, p_now => %s)", (json.dumps(drafts), BIRTH))
    found = Found()
    with ThreadPoolExecutor(clients) as threads:
        for part in threads.map(run, range(first_seed, first_seed + clients)):
            found.counts += part.counts
            found.errors += part.errors
    return found


def main(operations: int, first_seed: int = 0) -> None:
    from benchmarks.harness import fresh_database
    from pgrecall.settings import Settings

    with fresh_database(Settings(), 64) as url:
        found = stress(url, operations, first_seed=first_seed)
    sys.stdout.write(f"{found.counts.total():,} operations, {len(found.errors)} errors: {found.counts}\n")
    sys.stdout.writelines(f"{line}\n" for line in found.errors)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
