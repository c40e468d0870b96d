"""What Postgres counts of each call of each function: nothing of it may come from what another tenant stores.

Each function is attacked in two databases, and what it does is undone. In the first pair the other tenant
stores as much, in other words: rows, index entries, writes and locks of a call must be equal for every
table and index, and blocks too if the function only reads. In the second pair others store four times as
much of everything: the same but blocks must be equal while tables are read by their indexes. A table that
is read whole counts the rows of all tenants, whose number ``pg_stat_user_tables`` shows to every role;
nothing else may differ then.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, NamedTuple

import psycopg
import pytest

from tests.attack import growth
from tests.attack.calls import Attack, Function, attacks_on, functions_of
from tests.attack.test_counters import PLANNERS
from tests.attack.world import KEY_DIGEST, NOW, RIGHTS, VECTOR, World, attackers
from tests.given_server import Server

pytestmark = pytest.mark.attack

COUNTED = (
    "SELECT c.relname, c.relkind, pg_stat_get_xact_numscans(c.oid), pg_stat_get_xact_tuples_returned(c.oid), "
    "pg_stat_get_xact_tuples_inserted(c.oid), pg_stat_get_xact_tuples_updated(c.oid), "
    "pg_stat_get_xact_tuples_deleted(c.oid), pg_stat_get_xact_blocks_fetched(c.oid) "
    "FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'i')"
)

LOCKED = (
    "SELECT locktype, relation::regclass::text, mode, granted, count(*) FROM pg_locks "
    "WHERE pid = pg_backend_pid() AND locktype <> 'virtualxid' GROUP BY 1, 2, 3, 4"
)

NUMBERED = re.compile(r"(pg_toast|vector)_\d+")
"""Names of tables that a call makes for the attacker's own vectors."""

BY_INDEX = "SET enable_seqscan = off"
"""Every role may set this; the planner then reads no table whole that an index gives access to."""

ANALYZES = ("apply_erasure",)
"""Makes statistics of whole tables anew, and plans by them in the same call: left out where others grew."""

MAX_ATTACKS = 5
"""Attacks on each function: the plain call first, then hostile values."""

ROWS, BLOCKS = 1, 5
"""Places among the counts of a relation."""


class Counts(NamedTuple):
    """What Postgres counted of one call: scans, rows, three kinds of writes and blocks by relation; locks."""

    relations: dict[tuple[str, str], tuple[int, ...]]
    locks: Counter[str]
    succeeded: bool

    def differences(self, other: Counts, ignored: Collection[int]) -> list[Any]:
        """What is not the same in the other, but for ignored counts; entries of indexes never are."""
        found: list[Any] = []
        for key in sorted(self.relations.keys() | other.relations.keys()):
            mine, theirs = (one.relations.get(key, (0,) * 6) for one in (self, other))
            compared = [n for n in range(6) if n not in ignored or (n == ROWS and key[1] != "r")]
            if any(mine[n] != theirs[n] for n in compared):
                found.append((key, mine, theirs))
        return [*found, *(self.locks - other.locks), *(other.locks - self.locks)]


def counted(connection: psycopg.Connection[Any], attack: Attack) -> Counts:
    """The counts of one call, which is undone."""

    def now() -> dict[tuple[str, str], list[int]]:
        return {(name, kind): numbers for name, kind, *numbers in connection.execute(COUNTED)}

    connection.execute("BEGIN")
    try:
        before = now()  # counts of earlier transactions stay in them for up to a second
        connection.execute("SAVEPOINT before")
        succeeded = True
        try:
            connection.execute(attack.sql.encode(), attack.parameters)
        except psycopg.Error:
            connection.execute("ROLLBACK TO before")
            succeeded = False
        changes: dict[tuple[str, str], tuple[int, ...]] = {}
        for (name, kind), numbers in now().items():
            if (earlier := before.get((name, kind), [0] * 6)) != numbers:
                key = NUMBERED.sub(r"\1", name), kind
                sums = zip(changes.get(key, (0,) * 6), numbers, earlier, strict=True)
                changes[key] = tuple(total + number - once for total, number, once in sums)
        locks = Counter(NUMBERED.sub(r"\1", str(row)) for row in connection.execute(LOCKED).fetchall())
        return Counts(changes, locks, succeeded)
    finally:
        connection.execute("ROLLBACK")


class Pair(NamedTuple):
    """Two databases, the attacker's logins in both, and the functions to attack."""

    one: World
    other: World
    logins: dict[str, str]
    functions: list[Function]

    def leaks(self, right: str, setting: str, ignored: Collection[int], tried: Counter[str]) -> list[Any]:
        """The attacks of a role that were not counted the same in both databases."""
        found: list[tuple[Attack, list[Any]]] = []
        with self.one.log_in(self.logins[right]) as here, self.other.log_in(self.logins[right]) as there:
            for connection in (here, there):
                connection.execute(setting.encode())
            mine = [one for one in self.functions if one.least_role == f"recall_{right}"]
            for number, function in enumerate(mine):
                if right != "reader" and number % 10 == 9:
                    self.settle()  # so that what was undone lengthens no table
                for attack in islice(attacks_on(function, self.one.ids, self.one.own), MAX_ATTACKS):
                    if KEY_DIGEST in attack.parameters:
                        continue  # who can give the digest of a key has the key, and is told whose it is
                    tried["counters"] += 1
                    if differences := self.leak((here, there), attack, ignored):
                        found.append((attack, differences))
        return found

    def leak(
        self, sessions: tuple[psycopg.Connection[Any], ...], attack: Attack, ignored: Collection[int]
    ) -> list[Any]:
        """What differs, every time that it is looked at."""
        differences = self._differences(sessions, attack, ignored)
        for _ in range(3):
            if differences:
                # Neither of these comes again: undone rows of the attacker are counted until they are
                # removed, and so is what is read to make a plan, which the first call after that does.
                self.settle()
                self._differences(sessions, attack, ignored)
                differences = self._differences(sessions, attack, ignored)
        return differences

    def _differences(
        self, sessions: tuple[psycopg.Connection[Any], ...], attack: Attack, ignored: Collection[int]
    ) -> list[Any]:
        for world in (self.one, self.other):
            growth.restore_sizes(world)
        here, there = (counted(session, attack) for session in sessions)
        return here.differences(there, ignored)

    def settle(self) -> None:
        for world in (self.one, self.other):
            growth.vacuum(world)


def _pair(worlds: tuple[World, World]) -> Iterator[Pair]:
    one, other = worlds
    assert one.ids == other.ids
    with attackers(one.url, other.url) as logins:
        pair = Pair(one, other, logins, functions_of(one.admin))
        pair.settle()
        yield pair


@pytest.fixture(scope="module")
def reworded(alone: Server, installed: str) -> Iterator[Pair]:
    for worlds in growth.in_other_words(alone, installed):
        yield from _pair(worlds)


@pytest.fixture(scope="module")
def grown(alone: Server, installed: str) -> Iterator[Pair]:
    for worlds in growth.grown(alone, installed):
        yield from _pair(worlds)


@pytest.mark.parametrize("setting", [BY_INDEX, "RESET enable_seqscan"])
@pytest.mark.parametrize("right", RIGHTS)
def test_no_counter_depends_on_what_others_store(
    right: str, setting: str, reworded: Pair, tried: Counter[str]
) -> None:
    # Where there is room for a row, and so which block is written, depends on what was undone before.
    ignored = () if right == "reader" else (BLOCKS,)
    assert reworded.leaks(right, setting, ignored, tried) == []


@pytest.mark.parametrize("right", RIGHTS)
def test_no_counter_depends_on_how_much_others_store(right: str, grown: Pair, tried: Counter[str]) -> None:
    compared = grown._replace(functions=[one for one in grown.functions if one.name not in ANALYZES])
    assert compared.leaks(right, BY_INDEX, (BLOCKS,), tried) == []


def test_a_table_read_whole_shows_how_many_rows_it_has_and_nothing_else(
    grown: Pair, tried: Counter[str]
) -> None:
    assert grown.leaks("reader", "RESET enable_seqscan", (ROWS, BLOCKS), tried) == []


LEAKS = """
CREATE INDEX leak_idx ON recall.name (name);
CREATE FUNCTION recall.leak() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = recall, pg_temp
    AS $$ SELECT count(*) FROM recall.name n WHERE n.tenant || '' = 'acme' AND n.name {} $$;
GRANT EXECUTE ON FUNCTION recall.leak() TO recall_reader
"""


@pytest.mark.parametrize("condition", ["= 'zanzibarite 7'", "> 'm'"])
def test_a_function_that_reads_entries_of_others_would_be_found(
    condition: str, reworded: Pair, grown: Pair
) -> None:
    """Else the rest of this file would show nothing."""
    pair = reworded if "=" in condition else grown
    leaky = pair._replace(functions=[Function("leak", "recall_reader", (), (), 0)])
    try:
        for world in (pair.one, pair.other):
            world.admin.execute(LEAKS.format(condition).encode())
        assert leaky.leaks("reader", BY_INDEX, (BLOCKS,), Counter()) != []
    finally:
        for world in (pair.one, pair.other):
            world.admin.execute("DROP FUNCTION recall.leak(); DROP INDEX recall.leak_idx")


@pytest.mark.parametrize(
    "table",
    ["vector_shared", "token_signs", "memory_version", "memory_change", "plan_item", "plan", "redacted_text"],
)
def test_a_function_that_counts_rows_of_others_would_be_found(table: str, grown: Pair) -> None:
    """The worlds hold passages, token signs, versions, changes, plans and merges of others."""
    leaky = grown._replace(functions=[Function("leak", "recall_reader", (), (), 0)])
    try:
        for world in (grown.one, grown.other):
            world.admin.execute(
                "CREATE FUNCTION recall.leak() RETURNS bigint LANGUAGE sql SECURITY DEFINER "
                "SET search_path = recall, pg_temp "
                f"AS $$ SELECT count(*) FROM recall.{table} t WHERE t.tenant || '' = 'acme' $$; "
                "GRANT EXECUTE ON FUNCTION recall.leak() TO recall_reader".encode()
            )
        assert leaky.leaks("reader", BY_INDEX, (BLOCKS,), Counter()) != []
    finally:
        for world in (grown.one, grown.other):
            world.admin.execute("DROP FUNCTION recall.leak()")


def test_the_attacks_do_what_they_should(grown: Pair) -> None:
    with grown.one.log_in(grown.logins["reader"]) as reader:
        outcomes = Counter(
            counted(reader, next(attacks_on(one, grown.one.ids, grown.one.own))).succeeded
            for one in grown.functions
            if one.least_role == "recall_reader"
        )
    assert outcomes[True] > 0.6 * outcomes.total()


VECTOR_CALLS = (
    "SELECT * FROM recall.search('contract', p_embedding => %(vector)s, p_now => %(now)s)",
    "SELECT * FROM recall.search("
    "'zzz', p_embedding => %(near)s, p_include_archived => true, p_k => 50, p_now => %(now)s)",
    "SELECT * FROM recall.search(p_queries => ARRAY['crane', 'plan'], "
    "p_embeddings => ARRAY[%(vector)s, %(near)s]::halfvec[], p_now => %(now)s)",
    "SELECT * FROM recall.similarities(ARRAY(SELECT id FROM recall.list_memories('{}')))",
)


@pytest.mark.parametrize("home", ["shared", "own"])
def test_lookups_of_vectors_touch_the_same_blocks(
    home: str, reworded: Pair, grown: Pair, tried: Counter[str]
) -> None:
    """Under each setting of the planner; vectors of the attacker are beside others', or in a table alone."""
    for pair in (reworded, grown):
        for world in (pair.one, pair.other) if home == "own" else ():
            world.admin.execute("SELECT set_config('recall.tenant', 'acme', false)")
            world.admin.execute("SELECT recall.move_vectors_to_own_table(0)")
        pair.settle()
        given = {"vector": VECTOR, "near": growth.vector(7), "now": NOW}
        # Where others have more, trees may be of other depths, and tables read whole have other rows.
        planners: tuple[tuple[str, ...], ...]
        ignored: tuple[int, ...]
        planners, ignored = (PLANNERS, ()) if pair is reworded else (((BY_INDEX,),), (BLOCKS,))
        for planner in planners:
            with (
                pair.one.log_in(pair.logins["reader"]) as here,
                pair.other.log_in(pair.logins["reader"]) as there,
            ):
                for statement in planner:
                    here.execute(statement.encode())
                    there.execute(statement.encode())
                for call in VECTOR_CALLS:
                    tried["counters"] += 1
                    attack = Attack("search", call, given)
                    assert counted(here, attack).succeeded
                    assert pair.leak((here, there), attack, ignored) == [], (planner, call)
