"""The past: what vitality and zones are told to have been is what they were."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.databases import Query
from tests.integration.access.use_tools import BIRTH, Use, fold_all, log_later, note, notes, record

DAY = timedelta(days=1)
LAYERS = ("entity", "knowledge", "activity", "fleeting")
Terms = dict[int, dict[str, Any]]


def explained(sql: Query, now: datetime) -> Terms:
    rows = sql(
        "SELECT m.id, e.* FROM recall.memory m CROSS JOIN LATERAL recall.explain_vitality(m.id, %s) e", (now,)
    )
    return {row.pop("id"): row for row in rows}


def past_terms(sql: Query, as_of: datetime) -> Terms:
    rows = sql(
        "SELECT m.id, e.* FROM recall.memory m CROSS JOIN LATERAL recall.vitality_as_of(m.id, %s) e", (as_of,)
    )
    return {row.pop("id"): row for row in rows}


def zones(sql: Query, now: datetime) -> Counter[tuple[str, str]]:
    """How many live memories each layer holds in each zone now."""
    rows = sql(
        "SELECT m.layer, e.zone FROM recall.memory m CROSS JOIN LATERAL recall.explain_vitality(m.id, %s) e "
        "WHERE m.archived_at IS NULL",
        (now,),
    )
    return Counter((row["layer"], row["zone"]) for row in rows)


def past_zones(sql: Query, as_of: datetime) -> Counter[tuple[str, str]]:
    rows = sql("SELECT * FROM recall.zones_as_of(%s)", (as_of,))
    return Counter({(row["layer"], row["zone"]): row["memories"] for row in rows})


def equal(terms: Terms) -> Any:
    """To be compared with: numbers to a billionth, the rest exactly."""
    return {
        memory: {
            name: pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value
            for name, value in row.items()
        }
        for memory, row in terms.items()
    }


class Life:
    """A tenant to which things happen, one after the other."""

    def __init__(self, sql: Query, seed: int) -> None:
        self.sql = sql
        self.chance = random.Random(seed)
        self.now = BIRTH
        self.keys: list[str] = []
        sql("INSERT INTO recall.layer (tenant, name, metabolic_rate) VALUES ('acme', 'fleeting', 300)")

    def some(self, many: int) -> list[int]:
        ids = [row["id"] for row in self.sql("SELECT id FROM recall.memory ORDER BY id")]
        return self.chance.sample(ids, min(many, len(ids)))

    def step(self) -> None:
        pause = self.chance.choice([timedelta(minutes=3), timedelta(hours=7), DAY, 9 * DAY])
        self.now += pause * self.chance.uniform(0.1, 1)
        happenings: list[Callable[[], None]] = [
            self.remember,
            self.use,
            self.use,
            self.show,
            self.link,
            self.pin,
        ]
        happenings += [self.archive, self.protect, self.rewrite, self.expire]
        self.chance.choice(happenings if len(self.keys) > 3 else [self.remember])()

    def draft(self, key: str) -> None:
        targets = self.chance.sample([f"k{place}" for place in range(12)], self.chance.randint(0, 3))
        links = [
            {"target": t, "relation": self.chance.choice(["links_to", "mentions", "next"])} for t in targets
        ]
        draft = {"key": key, "body": f"{self.chance.random()}", "links": links}
        # The layer of a memory stays: the past is told with the rates that are in force now.
        draft |= {"layer": LAYERS[int(key[1:]) % 4], "pinned": self.chance.random() < 0.2}
        if self.chance.random() < 0.2:
            draft["expires_at"] = str(self.now + 20 * DAY)
        self.sql("SELECT recall.remember_many(%s::jsonb, p_now => %s)", (json.dumps([draft]), self.now))

    def remember(self) -> None:
        self.keys.append(f"k{len(self.keys)}")
        self.draft(self.keys[-1])

    def rewrite(self) -> None:
        self.draft(self.chance.choice(self.keys))

    def use(self) -> None:
        items = [
            {"memory_id": memory, "kind": self.chance.choice(["used", "read", "retrieval", "write"]),
             "session_id": self.chance.choice([None, "s", "t"])}
            for memory in self.some(3)
        ]  # fmt: skip
        record(self.sql, items, self.now)

    def show(self) -> None:
        for memory in self.some(3):
            seconds = (self.now - BIRTH).total_seconds()
            log_later(self.sql, memory, Use(seconds, "retrieval"), 0.35, self.now)
        fold_all(self.sql)

    def link(self) -> None:
        src, dst = self.some(2)
        self.sql("SELECT recall.link(%s, %s, p_now => %s)", (src, dst, self.now))

    def pin(self) -> None:
        self.sql("SELECT recall.pin(%s, %s, %s)", (*self.some(1), self.chance.random() < 0.5, self.now))

    def archive(self) -> None:
        if self.chance.random() < 0.4:
            self.sql("SELECT recall.forget(%s, p_now => %s)", (*self.some(1), self.now))
        else:
            call = "SELECT recall_private.archive_memories('acme', %s, 'pruned', 1, %s)"
            self.sql(call, (self.some(3), self.now))

    def expire(self) -> None:
        self.sql("SELECT recall.expire_memories(p_now => %s)", (self.now,))

    def protect(self) -> None:
        points = self.some(3)
        sizes = [self.chance.randint(1, 6) for _ in points]
        self.sql("SELECT recall_private.store_cut_sizes(%s, %s, %s)", (points, sizes, self.now))


@pytest.mark.parametrize("seed", range(4))
def test_past_vitality_equals_what_was_computed_then(sql: Query, seed: int) -> None:
    life = Life(sql, seed)
    seen: list[tuple[datetime, Terms, Counter[tuple[str, str]]]] = []
    for turn in range(50):
        life.step()
        # Told at the instant, or a little later, when nothing happens.
        instant = life.now + timedelta(seconds=turn % 2)
        seen.append((instant, explained(sql, instant), zones(sql, instant)))
    assert len({zone for _, _, counts in seen for _, zone in counts}) >= 3  # or the lives are too dull
    for instant, terms, counts in seen:
        assert past_terms(sql, instant) == equal(terms), instant
        assert past_zones(sql, instant) == counts, instant


def test_future_vitality_assumes_no_further_access(sql: Query, now: datetime) -> None:
    a, b = notes(sql, 2)
    sql("SELECT recall.link(%s, %s, p_now => %s)", (a, b, now - DAY))
    record(sql, [{"memory_id": a, "kind": "used"}], now)
    assert past_terms(sql, now + 100 * DAY) == equal(explained(sql, now + 100 * DAY))


# One by one


def test_memories_not_yet_born_are_left_out(sql: Query, now: datetime) -> None:
    memory = note(sql, at=now)
    assert past_terms(sql, now - timedelta(microseconds=1)) == {}
    assert past_zones(sql, now - DAY) == Counter()
    assert list(past_terms(sql, now)) == [memory]


def test_a_memory_of_the_past_exists_from_when_it_happened(sql: Query, now: datetime) -> None:
    sql("SELECT recall.remember('b', p_occurred_at => %s, p_now => %s)", (now - 9 * DAY, now))
    assert past_terms(sql, now - 10 * DAY) == {}
    assert [row["accesses"] for row in past_terms(sql, now - 8 * DAY).values()] == [1]


def test_an_access_counts_from_its_own_time_on_whenever_it_came(sql: Query, now: datetime) -> None:
    memory = note(sql)
    record(sql, [{"memory_id": memory, "at": now - 10 * DAY}], now)
    accesses = [past_terms(sql, now - days * DAY)[memory]["accesses"] for days in (11, 10, 9)]
    assert accesses == [1, 2, 2]


def test_bursts_and_partial_accesses_count_as_they_did_then(sql: Query, now: datetime) -> None:
    memory = note(sql)
    items = [{"memory_id": memory, "kind": "retrieval", "at": now - days * DAY} for days in range(12, 0, -1)]
    items += [
        {"memory_id": memory, "session_id": "s", "at": now - timedelta(seconds=s)} for s in (30, 20, 10)
    ]
    record(sql, items, now)
    instants = (now - 12 * DAY, now - 4 * DAY, now - 3 * DAY, now - timedelta(seconds=25), now)
    assert [past_terms(sql, instant)[memory]["accesses"] for instant in instants] == [1, 1, 2, 3, 3]


def test_a_dropped_link_counts_while_it_lasted(sql: Query) -> None:
    target = note(sql, "target")
    said = "SELECT recall.remember(%s, p_key => 'source', p_links => %s::jsonb, p_now => %s)"
    linked = json.dumps([{"target": "target"}])
    for day, links in ((1, linked), (5, "[]"), (9, linked)):
        sql(said, (f"day {day}", links, BIRTH + day * DAY))
    revivals = [past_terms(sql, BIRTH + day * DAY)[target]["revival"] for day in (0.5, 1, 4.9, 5, 8, 9, 12)]
    assert [revival > 0 for revival in revivals] == [False, True, True, False, False, True, True]
    assert revivals[1] == revivals[5] == 1


def test_a_reference_counts_while_its_source_was_live(sql: Query) -> None:
    source, target = notes(sql, 2)
    sql("SELECT recall.link(%s, %s, p_now => %s)", (source, target, BIRTH + DAY))
    sql(
        "SELECT recall_private.archive_memories('acme', ARRAY[%s::bigint], 'pruned', 1, %s)",
        (source, BIRTH + 3 * DAY),
    )
    sql("SELECT recall_private.restore_memories('acme', ARRAY[%s::bigint], %s)", (source, BIRTH + 5 * DAY))
    revived = [past_terms(sql, BIRTH + day * DAY)[target]["revival"] > 0 for day in (0.5, 2, 3, 4.9, 5, 6)]
    assert revived == [False, True, False, False, True, True]


def test_the_floor_applies_between_raising_and_lowering(sql: Query) -> None:
    memory = note(sql, layer="activity")
    start = BIRTH + 100 * DAY
    for day, pinned in ((0, True), (2, False)):
        sql("SELECT recall.pin(%s, %s, %s)", (memory, pinned, start + day * DAY))
    for day, size in ((4, 3), (6, 2)):
        sql("SELECT recall_private.store_cut_sizes(%s, %s, %s)", ([memory], [size], start + day * DAY))
    retentions = [
        past_terms(sql, start + day * DAY)[memory]["retention"] for day in (-1, 0, 1, 2, 3, 4, 5, 6, 7)
    ]
    assert [retention == 0.5 for retention in retentions] == [
        False,
        True,
        True,
        False,
        False,
        True,
        True,
        False,
        False,
    ]


def test_zones_are_those_of_what_was_live(sql: Query) -> None:
    first, _ = notes(sql, 2)
    sql("SELECT recall.forget(%s, p_now => %s)", (first, BIRTH + DAY))
    counts = [sum(past_zones(sql, BIRTH + day * DAY).values()) for day in (-1, 0, 0.9, 1, 2)]
    assert counts == [0, 2, 2, 1, 1]


def test_what_was_forgotten_hard_has_no_past(sql: Query, now: datetime) -> None:
    gone, kept = notes(sql, 2)
    sql("SELECT recall.forget(%s, true, %s)", (gone, now))
    assert list(past_terms(sql, BIRTH + DAY)) == [kept]
    assert sum(past_zones(sql, BIRTH + DAY).values()) == 1


def test_another_tenants_past_is_not_returned(sql: Query, now: datetime) -> None:
    theirs = note(sql, tenant="other")
    assert sql("SELECT * FROM recall.vitality_as_of(%s, %s)", (theirs, now)) == []
    assert past_zones(sql, now) == Counter()


@pytest.mark.parametrize("call", ["recall.vitality_as_of(1, %s)", "recall.zones_as_of(%s)"])
@pytest.mark.parametrize("moment", ["infinity", "-infinity", None])
def test_the_past_needs_a_moment(sql: Query, call: str, moment: str | None) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="it must be a moment"):
        sql(f"SELECT * FROM {call}", (moment,))
