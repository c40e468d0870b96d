"""Compares what pgrecall answers with what the book expects."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from tests.model import filters
from tests.model.book import Book
from tests.model.faces import Values
from tests.model.history import SAID, Change, stored_fields
from tests.model.noted import Noted
from tests.model.stage import Face, Reached
from tests.model.vitality import DAY

CLOSE = 1e-9
EVERY = 1000
"""More memories than a tenant has."""


def close(one: float, other: float) -> bool:
    return abs(one - other) <= CLOSE * max(1.0, abs(one), abs(other))


def same_members(book: Book, found: set[int], expected: set[int], asked: Any) -> None:
    """Asserts that the same memories were found, and names those that differ."""
    extra, missing = (
        [book.memories.get(one, one) for one in each] for each in (found - expected, expected - found)
    )
    assert found == expected, f"extra {extra}, missing {missing}, asked {asked}"


def moment(value: Any) -> Any:
    """A time, which HTTP tells as text."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def plain(row: Values, names: Sequence[str]) -> Values:
    """These fields as the book keeps them: lists as lists, times as times."""
    times = ("occurred_at", "valid_from", "valid_until")
    return {
        name: moment(row[name]) if name in times
        else list(row[name]) if name in ("tags", "aliases") else row[name]
        for name in names
    }  # fmt: skip


class Judge:
    """Raises AssertionError where the two differ; keeps how far approximations were off."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.compared = 0
        self.farthest = 0.0
        """The largest relative distance of a vitality from the exact sum."""

    # A memory

    def memory(self, book: Book, memory: Noted, found: Values, now: datetime) -> None:
        """All that is told of one memory."""
        what = (found, memory)
        assert plain(found, SAID) == stored_fields(memory.draft), what
        assert (found["key"], found["layer"]) == (memory.key, memory.layer), what
        assert (found["superseded_by"], found["pinned"]) == (memory.superseded_by, memory.pinned), what
        archived = memory.archived.at if memory.archived else None
        moments = [memory.created, memory.draft.get("expires_at"), archived]
        assert [moment(found[f"{name}_at"]) for name in ("created", "expires", "archived")] == moments, what
        links = {(end["other"], end["relation"], end["outgoing"], end["weight"])
                 for end in found["links"] if end["relation"] != "co_access"}  # fmt: skip
        assert links == book.links.of(memory.id), what
        counts = filters.access_counts(book, memory)
        assert {name: found["access_counts"][name] for name in counts} == counts, (counts, what)
        self.vitality(book, memory, found["vitality"], now)
        self.compared += 1

    def vitality(self, book: Book, memory: Noted, told: Values, now: datetime) -> None:
        """Term by term."""
        times, terms = book.whole_accesses(memory), book.terms(memory, now)
        what = (told, terms, memory)
        assert told["accesses"] == len(times), what
        for name in ("recent", "tail", "spread", "revival", "activation", "vitality"):
            assert close(told[name], getattr(terms, name)), (name, what)
        assert close(told["retention"], book.retention(memory, now)), what
        assert book.may_be_in(told["zone"], memory, now), what
        truly, summed = book.aging(memory).exact(times, now), terms.recent + terms.tail
        self.farthest = max(self.farthest, abs(summed / (1 + summed) / (truly / (1 + truly)) - 1))

    def terms(self, tenant: Reached, face: Face, memory: Noted, now: datetime) -> None:
        self.memory(tenant.book, memory, face.get(memory.id, now), now)

    # The past

    def versions(self, face: Face, memory: Noted, dice: random.Random) -> None:
        """All that it said, who wrote it, and how one version differs from another."""
        expected = [memory.past.present(memory.draft), *reversed(memory.past.versions)]
        found = face.versions(memory.id)
        what = (found, expected, memory)
        assert [row["number"] for row in found] == [each.number for each in expected], what
        for row, version in zip(found, expected, strict=True):
            assert plain(row, SAID) == dict(version.fields), what
            assert moment(row["written_at"]) == version.written_at, what
            assert moment(row["replaced_at"]) == version.replaced_at, what
            assert row["written_through"] == version.written_through, what
            assert (row["written_by"] is None) == (version.written_through is None), what
        one, other = dice.choice(expected), dice.choice([expected[0], dice.choice(expected)])
        later = None if other is expected[0] else other.number
        differing = {row["field"]: row for row in face.diff(memory.id, one.number, later)}
        assert set(differing) == {name for name in SAID if one.fields[name] != other.fields[name]}, what
        for name, row in differing.items():
            ends = plain({name: row["earlier"]}, (name,)), plain({name: row["later"]}, (name,))
            assert ends == ({name: one.fields[name]}, {name: other.fields[name]}), (row, what)
        self.compared += len(found) + len(differing)

    def followed(self, tenant: Reached, face: Face, dice: random.Random) -> str | None:
        """Reads all changes since the tenant's cursor, page by page: each once. Returns the new cursor."""
        cursor, found, limit = tenant.cursor, list[Values](), dice.choice((1, 7, 1000))
        while page := face.changes(cursor, limit, None):
            assert len(page) <= limit
            found += page
            cursor = page[-1]["cursor"]
        self.same_changes(tenant.book, found, tenant.book.changes.unread)
        tenant.book.changes.unread.clear()
        return cursor

    def log(self, tenant: Reached, face: Face) -> None:
        """The whole log, and that of some kinds; nothing comes after the cursor."""
        log = tenant.book.changes.log
        self.same_changes(tenant.book, face.changes(None, EVERY, None), log)
        kinds = ("deleted", "rewritten")
        self.same_changes(
            tenant.book, face.changes(None, EVERY, kinds), [each for each in log if each.kind in kinds]
        )
        assert face.changes(face.change_cursor(), EVERY, None) == []

    def same_changes(self, book: Book, found: Sequence[Values], expected: Sequence[Change]) -> None:
        read = [
            Change(moment(row["at"]), row["kind"], row["id"], row["other_id"], row["zone"]) for row in found
        ]
        assert [each.at for each in read] == sorted(each.at for each in read), read
        assert sorted(read, key=lambda each: each.order) == sorted(expected, key=lambda each: each.order)
        for row in found:
            memory = book.memories.get(row["id"])
            told = (None, None) if memory is None else (memory.key, memory.layer)
            assert (row["key"], row["layer"]) == told, (row, memory)
        self.compared += len(read)

    # Lists and searches

    def look(self, tenant: Reached, face: Face, dice: random.Random, now: datetime) -> None:
        """One question, drawn by lot."""
        memory = dice.choice(list(tenant.book.memories.values()))
        kind = dice.choice(
            ("terms", "newest", "vitality", "search", "window", "then", "then", "versions", "status")
        )
        if kind == "terms":
            self.terms(tenant, face, memory, now + dice.choice((0, 3, 100, 900)) * DAY)
        elif kind == "newest":
            self.listed(tenant, face, self.filter(dice, memory), "newest", now)
        elif kind == "vitality":
            self.listed(tenant, face, self.filter(dice, memory), "vitality", now)
        elif kind == "search":
            self.searched(tenant, face, self.filter(dice, memory), dice.choice(self.words), now)
        elif kind == "versions":
            self.versions(face, memory, dice)
        elif kind == "window":
            self.window(tenant, face, now)
        elif kind == "then":
            self.then(tenant, face, dice.choice(self.words), now - timedelta(hours=dice.randint(1, 20)), now)
        else:
            self.status(tenant, face, now)

    def filter(self, dice: random.Random, memory: Noted) -> dict[str, Any]:
        """Up to three filters that this memory mostly passes."""
        draft = memory.draft
        offered: dict[str, Any] = {
            "layers": [draft["layer"]], "tags": draft["tags"][:1], "metadata": draft["metadata"],
            "roles": [draft["role"] or "user"], "authors": [draft["author"] or "Ann"],
            "sources": [draft["source"] or "notes"], "hints": [draft["body"].split()[0]],
            "since": memory.happened,
            "until": memory.happened + timedelta(seconds=dice.choice((0, 1, 90000))),
            "include_archived": True, "include_superseded": True, "include_invalid": True,
        }  # fmt: skip
        return {name: offered[name] for name in dice.sample(sorted(offered), dice.randint(0, 3))
                if name != "until" or offered["until"] > memory.happened}  # fmt: skip

    def listed(self, tenant: Reached, face: Face, wanted: Values, order: str, now: datetime) -> None:
        found = face.list(wanted, order, EVERY, now)
        same_members(
            tenant.book,
            {row["id"] for row in found},
            filters.passing(tenant.book, wanted, now),
            (wanted, now),
        )
        if order == "newest":
            told = [tenant.book.memories[row["id"]].happened for row in found]
            assert told == sorted(told, reverse=True), wanted
        else:
            values = [row["vitality"] for row in found]
            assert values == sorted(values, reverse=True)
        for row in found:
            memory = tenant.book.memories[row["id"]]
            assert close(row["vitality"], tenant.book.terms(memory, now).vitality), (row, memory)
            assert tenant.book.may_be_in(row["zone"], memory, now), (row, memory)
        self.compared += len(found)

    def membership(self, book: Book, request: Values, hits: Sequence[Values], now: datetime) -> None:
        """Hits pass the filters; all that hold the word are found; ranks are in order."""
        found = [hit["id"] for hit in hits]
        passing = filters.passing(book, request, now)
        assert len(set(found)) == len(found)
        same_members(book, set(found) - passing, set(), request)
        if request["k"] >= len(passing):
            held = filters.containing(book, request["query"], passing)
            same_members(book, set(), held - set(found), request)
        assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))
        if not request.get("include_superseded"):
            order = [(-hit["score"], hit["id"]) for hit in hits]
            assert order == sorted(order), request

    def searched(self, tenant: Reached, face: Face, wanted: Values, word: str, now: datetime) -> None:
        """A search that is not logged: members, ranks, and what use adds to each score."""
        # The weight is given, because a search in one layer has the weight of that layer's profile.
        request = {**wanted, "query": word, "k": 200, "vitality_weight": filters.WEIGHT, "log": False}
        _, hits = face.search(request, now)
        self.membership(tenant.book, request, hits, now)
        book = tenant.book
        for hit in hits:
            memory = book.memories[hit["id"]]
            assert close(hit["vitality"], book.terms(memory, now).vitality), (hit, memory)
            replaced = {one.id for one in book.memories.values() if one.superseded_by == memory.id}
            assert (hit["superseded_by"], set(hit["supersedes"])) == (memory.superseded_by, replaced), hit
            if not book.layers and not book.settings:
                expected = filters.expected_score(book, memory, hit["relevance"], now)
                assert abs(hit["score"] - expected) < 1e-6, (expected, hit, memory)
        self.compared += len(hits)

    def window(self, tenant: Reached, face: Face, now: datetime) -> None:
        """A period without words: all that happened in it, by vitality."""
        request = {"since": now - 30 * DAY, "until": now, "k": 200, "log": False}
        _, hits = face.search(request, now)
        same_members(
            tenant.book, {hit["id"] for hit in hits}, filters.passing(tenant.book, request, now), request
        )
        values = [hit["vitality"] for hit in hits]
        assert values == sorted(values, reverse=True)
        self.compared += len(hits)

    def then(self, tenant: Reached, face: Face, word: str, then: datetime, now: datetime) -> None:
        """A search as of a past moment: what was known then."""
        request = {"query": word, "k": 200, "as_of": then, "log": False}
        _, hits = face.search(request, now)
        known = {each.id for each in tenant.book.memories.values() if filters.known_then(each, then)}
        found = {hit["id"] for hit in hits}
        same_members(tenant.book, found - known, set(), (word, then))
        same_members(tenant.book, set(), filters.containing(tenant.book, word, known) - found, (word, then))
        shown = ("title", "body", "role", "author", "tags")
        for hit in hits:
            memory = tenant.book.memories[hit["id"]]
            fields = memory.past.then(memory.draft, then)
            assert plain(hit, shown) == {name: fields[name] for name in shown}, (hit, memory, then)
        self.compared += len(hits)

    def status(self, tenant: Reached, face: Face, now: datetime) -> None:
        found, book = face.status(now), tenant.book
        assert found["memories"] == len(book.live)
        assert found["archived"] == len(book.memories) - len(book.live)
        expected = filters.total_counts(book)
        assert {name: found["access_counts"][name] for name in expected} == expected, (
            found["access_counts"],
            expected,
        )
        assert (found["links"], found["links_pending"]) == (len(book.links.made), len(book.links.waiting))
        self.compared += 1
