"""What a search reads: the plans that run inside the functions, on a tenant large enough for indexes.

auto_explain logs the plan of every statement that a function runs; the tests read those logs.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from pgrecall.embedded.shared_server import EmbeddedServer
from tests.conftest import DIMENSIONS, NOW
from tests.databases import cloned, dropped

BIG, SMALL = 6_000, 300
PAGE_COSTS = {"fast disk": 1.1, "as Postgres ships": 4.0}
"""Values of random_page_cost: that of the embedded server, and the default, which most servers keep."""
SOME_QUESTIONS = 20

# Zipf words (w1 in most memories, w2000 in few) and `everywhere` in all; directions are random.
FILL = f"""
WITH made AS MATERIALIZED (
    SELECT n,
           'everywhere ' || (SELECT string_agg('w' || ceil(2000 ^ random())::int, ' ')
                             FROM generate_series(1, 12) WHERE n = n) AS body,
           (SELECT array_agg(sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))
            FROM generate_series(1, {DIMENSIONS}) WHERE n = n)::halfvec({DIMENSIONS}) AS embedding
    FROM generate_series(%(first)s::int, %(last)s::int) n
), stored AS (
    INSERT INTO recall.memory (tenant, key, layer, title, body, author, tags, source, metadata,
                               embedded_with,
                               occurred_at, created_at)
    SELECT %(tenant)s, 'm' || n,
           CASE WHEN n %% 50 = 0 THEN 'entity' ELSE 'knowledge' END,
           CASE WHEN n %% 50 = 0 THEN 'Person Number' || n ELSE '' END,
           body, 'Author' || n %% 20, CASE WHEN n <= 7 THEN ARRAY['rare tag'] ELSE '{{}}' END,
           'notes/' || n %% 300 || '.md', jsonb_build_object('project', 'p' || n %% 300, 'number', n),
           'random',
           %(now)s - make_interval(hours => n), %(now)s - make_interval(hours => n)
    FROM made ORDER BY n
    RETURNING tenant, key, id, created_at
), pointed AS (
    INSERT INTO recall.vector_shared (tenant, memory_id, embedding)
    SELECT s.tenant, s.id, l2_normalize(m.embedding) FROM stored s JOIN made m ON s.key = 'm' || m.n
)
INSERT INTO recall.activation (tenant, memory_id, n, first_at, t1, folded_until, decay, clock)
SELECT tenant, id, 1, recall_private.epoch(created_at), recall_private.epoch(created_at), created_at,
0.5, 1 FROM stored
"""


@dataclass(frozen=True)
class Node:
    """One node of one plan: what it reads, by which index, how many rows it touched in all its loops."""

    type: str
    relation: str | None
    index: str | None
    touched: int
    text: str


Plans = list[Node]


class Corpus:
    """A connection to the filled database that runs statements as a tenant and keeps their plans."""

    def __init__(self, url: str, *, random_page_cost: float = 1.1) -> None:
        self.url = url
        # VACUUM marks no page all-visible whose commit is not on disk yet, and without the mark there are no
        # scans of an index alone.
        options = f"-c random_page_cost={random_page_cost} -c synchronous_commit=on"
        self._connection = psycopg.connect(url, options=options, row_factory=dict_row)
        self._connection.execute("LOAD 'auto_explain'")
        self._connection.commit()
        self._logged: list[str] = []
        self._connection.add_notice_handler(lambda notice: self._logged.append(notice.message_primary or ""))

    def close(self) -> None:
        self._connection.close()

    def run(self, sql: str, parameters: Any = None, *, tenant: str) -> list[dict[str, Any]]:
        with self._connection.transaction():
            self._connection.execute("SELECT set_config('recall.tenant', %s, true)", (tenant,))
            cursor = self._connection.execute(sql, parameters)
            return cursor.fetchall() if cursor.description is not None else []

    def fill(self, tenant: str, first: int, last: int) -> None:
        self.run("SELECT setseed(0.42)", tenant=tenant)
        self.run(FILL, {"tenant": tenant, "first": first, "last": last, "now": NOW}, tenant=tenant)
        self.run("SELECT recall.refresh_lexemes(), recall.move_vectors_to_own_table()", tenant=tenant)
        self._connection.commit()
        self._connection.autocommit = True
        self._connection.execute(
            "VACUUM ANALYZE recall.memory, recall.vector_shared, recall.activation, recall.lexeme, "
            "recall.name"
        )
        self._connection.autocommit = False

    def plans(self, sql: str, parameters: Any = None, *, tenant: str) -> Plans:
        """The plans of a statement and of all that run inside it, with what they really read."""
        self._logged.clear()
        with self._connection.transaction():
            for name, value in (
                ("auto_explain.log_min_duration", "0"),
                ("auto_explain.log_nested_statements", "on"),
                ("auto_explain.log_analyze", "on"),
                ("auto_explain.log_timing", "off"),
                ("auto_explain.log_verbose", "on"),
                ("auto_explain.log_format", "json"),
                ("client_min_messages", "log"),
                ("recall.tenant", tenant),
            ):
                self._connection.execute("SELECT set_config(%s, %s, true)", (name, value))
            self._logged.clear()
            self._connection.execute(sql, parameters).fetchall()
            logged = list(self._logged)
        found = [json.loads(text[text.index("{") :]) for text in logged if "plan:" in text]
        assert found, "auto_explain logged nothing"
        return [node for one in found for node in _nodes(one["Plan"])]

    def question(self, number: int) -> dict[str, Any]:
        """Words and a random direction, the same for the same number."""
        self.run("SELECT setseed(%s)", (1 / (number + 2),), tenant="big")
        (made,) = self.run(
            "SELECT (SELECT string_agg('w' || ceil(2000 ^ random())::int, ' ')"
            "  FROM generate_series(1, 4)) AS words,"
            " (SELECT array_agg(sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))"
            "  FROM generate_series(1, %s))::halfvec::text AS embedding",
            (DIMENSIONS,),
            tenant="big",
        )
        return made

    def search(self, tenant: str, question: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
        sql, values = _search(question, options)
        return self.run(sql, values, tenant=tenant)

    def search_plans(self, tenant: str, question: dict[str, Any], **options: Any) -> Plans:
        sql, values = _search(question, options)
        return self.plans(sql, values, tenant=tenant)


def _search(question: dict[str, Any], options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    values = {"query": question["words"], "embedding": question["embedding"], "now": NOW, **options}
    return f"SELECT * FROM recall.search({', '.join(f'p_{name} => %({name})s' for name in values)})", values


def _nodes(plan: dict[str, Any]) -> Iterator[Node]:
    removed = sum(int(plan.get(f"Rows Removed by {why}", 0)) for why in ("Filter", "Index Recheck"))
    loops = plan.get("Actual Loops", 0)
    yield Node(
        plan["Node Type"],
        plan.get("Relation Name"),
        plan.get("Index Name"),
        round((plan.get("Actual Rows", 0) + removed) * loops),
        json.dumps({name: value for name, value in plan.items() if name != "Plans"}),
    )
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def touched(plans: Plans, relation: str) -> int:
    return sum(node.touched for node in plans if node.relation == relation)


def indexes(plans: Plans) -> set[str]:
    return {node.index for node in plans if node.index}


TALKATIVE = (
    "DO $$ DECLARE f regprocedure; BEGIN FOR f IN SELECT oid FROM pg_proc "
    "WHERE proconfig @> '{client_min_messages=warning}' AND pronamespace = 'recall'::regnamespace "
    "LOOP EXECUTE format('ALTER FUNCTION %s RESET client_min_messages', f); END LOOP; END $$"
)
"""Callers are told no plans, as row counts of all tenants are in them; here they are what is looked at."""


@pytest.fixture(scope="module")
def clone(server: EmbeddedServer, template: str) -> Iterator[Callable[[], Corpus]]:
    """Makes empty databases for this file; dropped at its end."""
    made: list[tuple[str, Corpus]] = []

    def make() -> Corpus:
        name = f"test_plans_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(server.url, autocommit=True) as admin:
            cloned(admin, name, template)
        corpus = Corpus(make_conninfo(server.url, dbname=name))
        made.append((name, corpus))
        corpus.run(TALKATIVE, tenant="big")
        return corpus

    yield make
    with psycopg.connect(server.url, autocommit=True) as admin:
        for name, corpus in made:
            corpus.close()
            dropped(admin, name)


@pytest.fixture(scope="module")
def filled(clone: Callable[[], Corpus]) -> Corpus:
    """Tenant ``big`` with 6,000 memories, ``middling`` with 3,000 and ``small`` with 300."""
    made = clone()
    made.fill("middling", 1, BIG // 2)
    made.fill("small", 1, SMALL)
    made.fill("big", 1, BIG)
    return made


@pytest.fixture(scope="module", params=list(PAGE_COSTS.values()), ids=list(PAGE_COSTS))
def corpus(filled: Corpus, request: pytest.FixtureRequest) -> Iterator[Corpus]:
    """The filled database as a server sees it that says this of its disk."""
    opened = Corpus(filled.url, random_page_cost=request.param)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def plans(corpus: Corpus) -> Plans:
    """The plans of one plain search of the large tenant, by words and by meaning."""
    return corpus.search_plans("big", corpus.question(1))


def brute_force(corpus: Corpus, tenant: str, question: dict[str, Any], k: int = 50) -> list[int]:
    rows = corpus.run(
        "SELECT id FROM recall_private.stored_vectors(%s, NULL) "
        "ORDER BY (embedding <=> %s::halfvec) + 0, id LIMIT %s",
        (tenant, question["embedding"], k),
        tenant=tenant,
    )
    return [row["id"] for row in rows]


def nearest(corpus: Corpus, tenant: str, question: dict[str, Any]) -> list[int]:
    """What the semantic arm of a search gathers, nearest first."""
    hits = corpus.search(tenant, question, k=50, vitality_mode="off")
    ranks = {hit["explanation"]["arms"]["semantic"].get("rank"): hit["id"] for hit in hits}
    rows = corpus.run(
        "SELECT unnest(a.ids) AS id FROM recall_private.semantic_arm(%s, %s::halfvec, 50, "
        "recall_private.checked_filter(%s, recall_private.read_filter('{}'), %s)) a",
        (tenant, question["embedding"], tenant, NOW),
        tenant=tenant,
    )
    found = [row["id"] for row in rows]
    assert all(found[rank - 1] == one for rank, one in ranks.items() if rank is not None)
    return found


def test_meaning_is_looked_up_in_the_vector_index(plans: Plans) -> None:
    assert "vector_1_live_idx" in indexes(plans)


def test_words_are_looked_up_in_the_text_index(plans: Plans) -> None:
    assert "memory_words_idx" in indexes(plans)


QUESTIONS = {
    "words and meaning": {},
    "words alone": {"embedding": None},
    "every word is common": {"query": "everywhere w1 w2"},
    "an unknown word": {"query": "unheardof w40"},
    "an exact name": {"query": "Number50"},
    "a misspelt name": {"query": "Persn Numbr50"},
    "an author": {"query": "what did Author7 write about w30"},
    "a long question": {"query": " ".join(f"w{n}" for n in range(60, 160))},
    "a key": {"query": "m77"},
    "a tag": {"tags": ["rare tag"]},
    "a window": {"since": NOW.replace(month=5, day=1), "until": NOW.replace(month=5, day=2)},
    "with the archived": {"include_archived": True},
    "many results": {"k": 200},
    "explained": {"explain": True},
}
"""One is explained: the plan behind an explanation has 270 kB, which each hit would log."""


@pytest.mark.parametrize("tenant", ["big", "small"])
@pytest.mark.parametrize("options", QUESTIONS.values(), ids=QUESTIONS)
def test_no_search_scans_a_table(corpus: Corpus, tenant: str, options: dict[str, Any]) -> None:
    found = corpus.search_plans(tenant, corpus.question(2), **{"explain": False, **options})

    scanned = [n for n in found if n.type == "Seq Scan" and n.relation in ("memory", "activation", "access")]
    assert [node.text for node in scanned] == []
    assert touched(found, "access") == 0


@pytest.mark.parametrize("number", range(5))
def test_rows_read_are_bounded(corpus: Corpus, number: int) -> None:
    found = corpus.search_plans("big", corpus.question(number))

    assert 10 <= touched(found, "activation") <= 150
    assert touched(found, "memory") <= 2_000 + 1_000
    assert touched(found, "lexeme") <= 20


def test_rows_read_do_not_grow_with_the_tenant(clone: Callable[[], Corpus]) -> None:
    growing = clone()
    read = []
    for first, last in ((1, 4_200), (4_201, 8_400)):
        growing.fill("big", first, last)
        found = [growing.search_plans("big", growing.question(number)) for number in range(5)]
        read.append((sum(touched(f, "memory") for f in found), sum(touched(f, "activation") for f in found)))

    (memory, activation), (memory_doubled, activation_doubled) = read
    assert memory_doubled <= 1.3 * memory
    assert activation_doubled <= 1.3 * activation


@pytest.mark.parametrize("words", ["everywhere", "everywhere w1", "unheardof everywhere"])
def test_a_word_that_all_memories_hold_does_not_make_the_search_read_them_all(
    corpus: Corpus, words: str
) -> None:
    found = corpus.search_plans("big", corpus.question(3), query=words, embedding=None)

    assert touched(found, "memory") <= 2_000 + 150
    assert touched(found, "activation") <= 150


@pytest.mark.parametrize(
    "function", ["activation_sum", "lexical_strength", "passes_filter", "power_sum", "tail_mean"]
)
def test_the_hot_expressions_are_inlined(plans: Plans, function: str) -> None:
    assert [node.text for node in plans if f".{function}(" in node.text] == []


def test_the_inlined_expressions_are_there(plans: Plans) -> None:
    """Or else the test above would pass for a search that never computes them."""
    texts = " ".join(node.text for node in plans)

    assert ".t8" in texts
    assert "ts_rank(" in texts
    assert "superseded_by IS NULL" in texts


@pytest.mark.parametrize("options", [{}, {"k": 5}, {"k": 100}, {"include_archived": True}])
def test_a_filter_that_leaves_few_returns_them_all(corpus: Corpus, options: dict[str, Any]) -> None:
    for number in range(3):
        hits = corpus.search("big", corpus.question(number), tags=["rare tag"], **options)
        assert len(hits) == min(7, options.get("k", 10))


def test_a_small_tenant_is_searched_exactly(corpus: Corpus) -> None:
    found = corpus.search_plans("small", corpus.question(1))

    assert {node.relation for node in found if node.relation and "vector" in node.relation} == {
        "vector_home", "vector_shared"
    }  # fmt: skip
    assert "Index Only Scan" in [node.type for node in found if node.relation == "vector_shared"]
    assert touched(found, "vector_shared") <= 2 * SMALL
    for number in range(SOME_QUESTIONS):
        question = corpus.question(number)
        assert nearest(corpus, "small", question) == brute_force(corpus, "small", question)


@pytest.mark.parametrize("counted", [True, False])
def test_a_small_tenant_does_not_read_its_neighbours(corpus: Corpus, counted: bool) -> None:
    if not counted:
        corpus.run("DELETE FROM recall.lexeme WHERE tenant = 'small'", tenant="small")
    try:
        found = corpus.search_plans("small", corpus.question(1), query="everywhere w1", embedding=None)
    finally:
        corpus.run("SELECT recall.refresh_lexemes()", tenant="small")

    assert touched(found, "memory") <= 6 * SMALL  # counted twice, weighed once, and its neighbours are 6,000


def test_a_large_tenant_loses_few_of_the_nearest(corpus: Corpus) -> None:
    shares = []
    for number in range(SOME_QUESTIONS):
        question = corpus.question(number)
        right = set(brute_force(corpus, "big", question))
        shares.append(len(right & set(nearest(corpus, "big", question))) / len(right))

    assert sum(shares) / len(shares) >= 0.9


@pytest.mark.parametrize(
    ("options", "index", "expected"),
    [
        ({"metadata": json.dumps({"project": "p7"})}, "memory_metadata_idx", 20),
        ({"sources": ["notes/7.md", "notes/8.md"]}, "memory_source_idx", 40),
    ],
)
def test_rare_metadata_and_sources_are_looked_up(
    corpus: Corpus, options: dict[str, Any], index: str, expected: int
) -> None:
    question = corpus.question(2)
    found = corpus.search_plans("big", question, k=50, **options)
    assert index in indexes(found)
    assert len(corpus.search("big", question, k=50, **options)) == expected


@pytest.mark.parametrize(
    ("chosen", "index"),
    [
        ("{}", "memory_happened_at_idx"),
        ('{"metadata": {"number": 77}}', "memory_metadata_idx"),
        ('{"sources": ["notes/7.md"]}', "memory_source_idx"),
    ],
)
def test_a_page_of_a_list_reads_little(corpus: Corpus, chosen: str, index: str) -> None:
    found = corpus.plans("SELECT * FROM recall.list_memories(%s, p_limit => 20)", (chosen,), tenant="big")
    assert index in indexes(found)
    assert touched(found, "memory") <= 100


def test_a_session_is_looked_up_in_its_index(corpus: Corpus) -> None:
    corpus.run("UPDATE recall.memory SET session_id = 's7' WHERE key IN ('m7', 'm99', 'm5990')", tenant="big")
    corpus.run("ANALYZE recall.memory (session_id)", tenant="big")
    for call in ("list_memories(p_session_id => 's7')", "forget_session('s7', p_dry_run => true)"):
        found = corpus.plans(f"SELECT * FROM recall.{call}", tenant="big")
        assert "memory_session_idx" in indexes(found)
        assert touched(found, "memory") <= 100
