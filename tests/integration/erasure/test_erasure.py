"""Erasing a subject: planned, applied in batches, reported; nothing of it is left in a dump."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import psycopg
import pytest

from pgrecall import Draft, DraftLink, Memory
from pgrecall.errors import InvalidInput
from tests.databases import Query
from tests.integration.memories.privacy_world import KEY, MARK, NOW, OLD, answers, fill, import_conversation
from tests.integration.memories.test_forgotten import clean, places
from tests.migration.test_dump import program, run

pytestmark = pytest.mark.in_turns

SUBJECTS = {
    "author": f"{MARK.upper()}author",
    "session": f"{MARK}session",
    "tag": f"{MARK}Tag",
    "source": f"{MARK}source",
    "key": f"{MARK}*",
}
SAMPLED = "SELECT tablename FROM pg_stats s WHERE schemaname = 'recall' AND s::text ILIKE %s"
"""Tables of which the planner's statistics hold a text; those of tables without rows are never made anew."""


@pytest.fixture
def everywhere(memory: Memory, query: Query) -> Memory:
    """A tenant with a memory whose texts are in every table, also in what was asked."""
    fill(memory, query)
    memory.search(f"what does {MARK}author say of the {MARK}stone", include_superseded=True, k=20)
    memory.search("harbour", include_superseded=True, k=20)
    query("ANALYZE")
    return memory


@pytest.mark.parametrize("field", SUBJECTS)
def test_nothing_of_a_subject_is_left(
    everywhere: Memory, query: Query, database_url: str, field: str
) -> None:
    memory = everywhere
    assert MARK in run([program("pg_dump"), database_url]).lower()
    plan = memory.erasure.plan(**{field: SUBJECTS[field]}, asked_by="Ann", now=NOW)  # type: ignore[arg-type]
    assert (plan.state, plan.planned, [one.key for one in plan.sample]) == ("planned", 1, [KEY])
    assert plan.counts["memory"] == 1
    assert MARK in run([program("pg_dump"), database_url]).lower()

    done = memory.erasure.apply(plan.id, signed_by="Bram", now=NOW)

    assert (done.state, done.remaining, done.intact) == ("done", 0, True)
    assert places(query, MARK) == set()
    assert MARK not in run([program("pg_dump"), database_url]).lower()
    sampled = query(SAMPLED, (f"%{MARK}%",))
    assert [
        row["tablename"] for row in sampled if query(f"SELECT FROM recall.{row['tablename']} LIMIT 1")
    ] == []
    assert KEY not in "".join(answers(memory))
    assert clean(memory)


def test_the_report_names_every_table_and_what_remains(everywhere: Memory, query: Query) -> None:
    memory = everywhere
    plan = memory.erasure.plan(author=SUBJECTS["author"], asked_by="Ann", now=NOW)
    done = memory.erasure.apply(plan.id, signed_by="Bram", now=NOW)
    report = done.report
    assert report is not None
    assert (report.asked_by, report.signed_by, report.planned, report.memories) == ("Ann", "Bram", 1, 1)
    assert (report.planned_at, report.done_at, report.arrived_since) == (NOW, NOW, 0)
    tables = {one.table: one for one in report.tables}
    about = query(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind = 'r' AND a.attname = 'memory_id' "
        "AND c.relname <> 'erasure_item'"
    )
    assert {row["relname"] for row in about} | {"memory", "link", "search_log", "lexeme"} <= set(tables)
    assert all(one.left == 0 and one.indexes for one in report.tables)
    assert "memory_words_idx" in tables["memory"].indexes
    assert tables["judgement"].rows > 0
    assert {one.place for one in report.remains} >= {
        "write-ahead log", "WAL archive", "backups", "exports", "replication slots", "server log",
        "table files",
    }  # fmt: skip
    assert str(report.subject.author).startswith("sha256:")
    assert MARK not in repr(done).lower()
    assert done.digest is not None
    assert done.digest.startswith("sha256:")
    # Again: the same report.
    assert memory.erasure.apply(plan.id, signed_by="Somebody", now=NOW) == done
    query("UPDATE recall.erasure SET report = report || '{\"memories\": 0}'")
    assert memory.erasure.get(plan.id).intact is False


def test_the_report_names_tables_whose_statistics_stay(memory: Memory, database_url: str) -> None:
    """Another tenant can keep a transaction open that has analyzed a table."""
    memory.remember_many(drafts(4))
    told = []
    for author in ("Ann", "Bo"):
        plan = memory.erasure.plan(author=author, asked_by="Ann")
        with psycopg.connect(database_url) as other:
            other.execute("ANALYZE recall.memory" if author == "Ann" else "SELECT 1")
            report = memory.erasure.apply(plan.id, signed_by="Bram").report
        assert report is not None
        told += [one for one in report.remains if one.place == "planner statistics"]
    assert "rows, but for those of recall.memory, which other transactions held. Those" in told[0].what
    assert told[0].until == "The table has rows and is analyzed again: ANALYZE recall.memory."
    assert "from the remaining rows. Those of a table" in told[1].what


def rows_by_table(query: Query) -> dict[str, int]:
    names = query(
        "SELECT relname AS name FROM pg_class WHERE relnamespace = 'recall'::regnamespace AND relkind = 'r'"
    )
    counted = "SELECT count(*) FROM recall.{0} t WHERE to_jsonb(t) ->> 'kind' IS DISTINCT FROM 'deleted'"
    return {row["name"]: query(counted.format(row["name"]))[0]["count"] for row in names}


@pytest.mark.parametrize("field", SUBJECTS)
def test_the_report_counts_what_the_database_lost(everywhere: Memory, query: Query, field: str) -> None:
    everywhere.jobs.run("statistics")
    subject = {field: SUBJECTS[field]}
    plan = everywhere.erasure.plan(**subject, asked_by="Ann", now=NOW)  # type: ignore[arg-type]
    before = rows_by_table(query)
    done = everywhere.erasure.apply(plan.id, signed_by="Bram", now=NOW)
    after = rows_by_table(query)
    assert done.report is not None
    reported = {one.table: one.rows for one in done.report.tables if one.rows}
    lost = {name: before[name] - after[name] for name in before if before[name] != after[name]}
    lost.pop("erasure_item")
    lost["memory_change"] += 1  # one is new: a memory that it had superseded is restored
    assert reported == lost


def test_the_report_says_what_a_search_under_way_has_logged(
    memory: Memory, query: Query, database_url: str
) -> None:
    memory.remember_many(drafts(4))
    plan = memory.erasure.plan(author="Ann", asked_by="Ann")
    assert plan.planned == 2
    with psycopg.connect(database_url) as search:
        search.execute("SELECT set_config('recall.tenant', 'acme', true)")
        search.execute("""SELECT recall.search_and_log('{"query": "turn", "k": 9}')""")
        memory.erasure.apply(plan.id, signed_by="Bram", limit=1)
    done = memory.erasure.apply(plan.id, signed_by="Bram")
    assert done.report is not None
    assert [one.left for one in done.report.tables if one.left] == [1]
    memory.jobs.run("fold")
    gone = "SELECT count(*) FROM recall.access WHERE memory_id NOT IN (SELECT id FROM recall.memory)"
    assert query(gone) == [{"count": 0}]


def test_two_who_apply_it_at_once_delete_it_once(memory: Memory) -> None:
    memory.remember_many(drafts(40))
    plan = memory.erasure.plan(author="Ann", asked_by="Ann")
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda who: memory.erasure.apply(plan.id, signed_by=who, limit=3), "XYZ"))
        done += pool.map(lambda who: memory.erasure.apply(plan.id, signed_by=who), "XYZ")
    [report] = {json.dumps(asdict(one.report), default=str) for one in done if one.report is not None}
    assert json.loads(report)["memories"] == 20
    assert done[-1].counts["memory"] == 20
    assert clean(memory)


def drafts(many: int) -> list[Draft]:
    """Turns of two speakers that follow each other, each with the one before as its context."""
    return [
        Draft(
            f"turn {n} of it",
            key=f"t{n}",
            author="Ann" if n % 2 else "Bram",
            session_id="s",
            context=f"{'Bram' if n % 2 else 'Ann'}: turn {n - 1} of it",
            links=(DraftLink(f"t{n + 1}", "next"), DraftLink("hub")),
            occurred_at=OLD,
        )
        for n in range(many)
    ]


def test_it_goes_on_after_a_break_and_leaves_what_changed_hands(memory: Memory) -> None:
    memory.remember("the hub", key="hub")
    memory.remember_many(drafts(40))
    plan = memory.erasure.plan(author="ann", asked_by="Ann")
    assert plan.planned == 20
    begun = memory.erasure.apply(plan.id, signed_by="Bram", limit=7)
    assert (begun.state, begun.remaining, begun.counts["memory"]) == ("begun", 13, 7)
    memory.forget("t39", hard=True)  # meanwhile, by another
    memory.remember("turn 37 is mine", key="t37", author="Bram")
    memory.remember("a new turn", key="late", author="Ann")
    reached: list[int] = []
    done = memory.erasure.apply(plan.id, signed_by="Bram", progress=reached.append)
    assert done.report is not None
    assert (reached, done.report.memories, done.report.arrived_since) == ([0], 18, 1)
    assert memory.get("t37").author == "Bram"
    assert memory.get("t2").context == ""
    assert [one.state for one in memory.erasure.list()] == ["done"]
    assert clean(memory)


def test_searches_that_showed_it_and_its_session_go(memory: Memory, query: Query) -> None:
    memory.remember("the crane of the harbour", key="a", author="Ann", session_id="s-ann")
    memory.remember("the crane of the yard", key="b", author="Bram")
    memory.search("crane", k=5)
    kept = memory.remember("something else altogether", key="c").id
    memory.search("altogether", k=1)
    memory.record_access("b", "used", session_id="s-ann")
    plan = memory.erasure.plan(session="s-ann", asked_by="Ann")
    done = memory.erasure.apply(plan.id, signed_by="Bram")
    assert done.counts["search_log"] == 1
    assert [row["shown"] for row in query("SELECT shown FROM recall.search_log")] == [[kept]]
    assert places(query, "s-ann") == set()
    assert query("SELECT count(*) FROM recall.access WHERE session_id LIKE 'erased %%'") == [{"count": 1}]
    memory.jobs.run("fold")
    assert query("SELECT recall.rebuild() AS changed") == [{"changed": 0}]
    assert clean(memory)


def test_a_conversation_loses_the_turns_of_a_speaker(memory: Memory, query: Query, tmp_path: Path) -> None:
    import_conversation(memory, tmp_path)
    plan = memory.erasure.plan(key="talk/2", asked_by="Ann")
    memory.erasure.apply(plan.id, signed_by="Bram")
    assert places(query, MARK) == set()
    assert memory.get("talk/3").context == ""


def test_a_subject_without_memories_has_a_report_too(memory: Memory) -> None:
    plan = memory.erasure.plan(author="nobody", asked_by="Ann")
    done = memory.erasure.apply(plan.id, signed_by="Bram")
    assert (plan.planned, done.state, done.counts) == (0, "done", {})


def test_a_plan_can_be_dropped_until_it_is_begun(memory: Memory) -> None:
    memory.remember_many(drafts(4))
    plan = memory.erasure.plan(author="Ann", asked_by="Ann")
    assert memory.erasure.drop(plan.id)
    assert memory.erasure.list() == ()
    plan = memory.erasure.plan(author="Ann", asked_by="Ann")
    memory.erasure.apply(plan.id, signed_by="Bram", limit=1)
    with pytest.raises(InvalidInput, match=f"Erasure {plan.id} was begun already"):
        memory.erasure.drop(plan.id)
    assert memory.get("t0").author == "Bram"


@pytest.mark.parametrize("subject", [{}, {"author": ""}, {"author": " "}, {"key": "*"}, {"key": "* *"},
                                     {"tag": "x" * 1001}, {"source": "a\x00b"}])  # fmt: skip
def test_what_is_no_subject_is_refused(memory: Memory, subject: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        memory.erasure.plan(**subject, asked_by="Ann")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "subject",
    ["[]", "null", "7", '{"author": 7}', '{"author": null}', '{"nobody": "x"}', '{"author": ["x"]}'],
)
def test_sql_refuses_them_as_well(memory: Memory, query: Query, subject: str) -> None:
    with pytest.raises(Exception, match="subject"):
        query("SELECT recall.plan_erasure(%s::jsonb, 'Ann')", (subject,))


def test_persons_ids_and_limits_are_checked(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="1 to 200 characters, not 0"):
        memory.erasure.plan(author="Ann", asked_by=" ")
    plan = memory.erasure.plan(author="Ann", asked_by="Ann")
    with pytest.raises(InvalidInput, match="1 to 200 characters, not 201"):
        memory.erasure.apply(plan.id, signed_by="x" * 201)
    for wrong in (0, 4711, 2**63):
        with pytest.raises(InvalidInput, match=f"no erasure {wrong} "):
            memory.erasure.get(wrong)
        with pytest.raises(InvalidInput, match=f"no erasure {wrong} "):
            memory.erasure.apply(wrong, signed_by="Bram")
    with pytest.raises(InvalidInput, match="limit is 0"):
        memory.erasure.apply(plan.id, signed_by="Bram", limit=0)


def test_wild_cards_of_sql_are_plain_characters(memory: Memory) -> None:
    memory.remember_many([Draft("x", key=key) for key in ("a%b", "a_b", "axb", "a\\b", "ann/1", "ann/2")])
    found = {
        key: memory.erasure.plan(key=key, asked_by="Ann").planned for key in ("a%b", "a_b", "a\\b", "ann/*")
    }
    assert found == {"a%b": 1, "a_b": 1, "a\\b": 1, "ann/*": 2}


def test_other_tenants_keep_theirs(memory: Memory, query: Query) -> None:
    memory.remember("mine", author="Ann")
    query("SELECT recall.remember('theirs', p_author => 'Ann')", tenant="globex")
    plan = memory.erasure.plan(author="Ann", asked_by="Ann")
    assert plan.planned == 1
    memory.erasure.apply(plan.id, signed_by="Bram")
    assert query("SELECT tenant, body FROM recall.memory") == [{"tenant": "globex", "body": "theirs"}]
    assert query("SELECT * FROM recall.erasures()", tenant="globex") == []
    assert json.dumps(plan.counts)
