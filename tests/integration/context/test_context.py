"""Memory.context: a block of text from what is stored, and what it leaves behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from pgrecall import ContextBlock, DatabaseError, Draft, EmbedderError, InvalidInput, Memory, Settings
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from tests.conftest import DIMENSIONS
from tests.databases import Query

pytestmark = pytest.mark.in_turns


@pytest.fixture
def harbour(memory: Memory, now: datetime) -> Memory:
    """Three ways to say one thing, and three other things about the harbour."""
    drafts = [
        Draft("The harbour contract is signed by Mira on the pier", key="contract"),
        Draft("Signed by Mira, the harbour contract is on the pier.", key="again"),
        Draft("the harbour contract is on the pier, signed by mira", key="thrice"),
        Draft("The harbour gauge is read at dawn", key="gauge", layer="episodic"),
        Draft("Tea in the harbour office", key="tea", title="Tea", author="Tom", role="user"),
        Draft("Harbour dues went up by 3 percent", key="dues", occurred_at=now - timedelta(days=9)),
    ]
    memory.remember_many(drafts, now=now)
    return memory


def keys(block: ContextBlock) -> list[str | None]:
    return [one.key for one in block.hits]


def left(block: ContextBlock) -> dict[str | None, str]:
    return {one.key: one.reason for one in block.left_out}


def logged(query: Query) -> list[tuple[int, str | None]]:
    rows = query(
        "SELECT memory_id, session_id FROM recall.access WHERE kind = 'retrieval' ORDER BY memory_id"
    )
    return [(row["memory_id"], row["session_id"]) for row in rows]


def test_what_repeats_is_shown_once(harbour: Memory) -> None:
    block = harbour.context("harbour contract", min_relevance=0)
    once = {"contract", "again", "thrice"}
    assert {"gauge", "tea", "dues"} == set(keys(block)) - once
    assert len(once & set(keys(block))) == 1
    assert left(block) == dict.fromkeys(once - set(keys(block)), "near_duplicate")
    assert block.skipped == ()
    assert block.tokens <= 2000


def test_the_block_names_what_it_shows(harbour: Memory) -> None:
    block = harbour.context("tea", k=1)
    assert '[1] "Tea" · knowledge · user "Tom" · 2026-06-01\n> Tea in the harbour office\n' in block.text
    assert block.text.endswith('Sources:\n[1] "tea" · "Tea"')
    [source] = block.sources
    assert (source.number, source.key, source.title, source.cut) == (1, "tea", "Tea", False)
    assert [source.id] == [one.id for one in block.hits] == [harbour.get("tea").id]


def test_a_small_budget_takes_what_is_best_and_fits(harbour: Memory) -> None:
    harbour.remember("harbour contract " * 300, key="long")
    block = harbour.context("harbour contract", budget_tokens=60, min_relevance=0)
    assert len(block.hits) == 1
    assert "long" in {*left(block), *keys(block)}
    assert block.tokens <= 60


def test_the_caller_counts_the_tokens(harbour: Memory) -> None:
    block = harbour.context("harbour", budget_tokens=40, count_tokens=lambda text: len(text.split()))
    assert block.tokens == len(block.text.split()) <= 40
    assert block.hits


def test_quotas_and_order(harbour: Memory) -> None:
    block = harbour.context("harbour", per_layer={"knowledge": 1, "episodic": 0})
    assert len(block.hits) == 1
    assert set(left(block).values()) <= {"quota", "near_duplicate"}
    oldest = harbour.context("harbour", order="time")
    assert keys(oldest)[0] == "dues"
    assert keys(oldest) != keys(harbour.context("harbour"))


def test_only_what_is_shown_is_logged(harbour: Memory, query: Query) -> None:
    block = harbour.context("harbour contract", budget_tokens=70, session_id="s")
    assert 0 < len(block.hits) < len(block.left_out)
    assert logged(query) == [(one, "s") for one in sorted(hit.id for hit in block.hits)]
    assert query("SELECT cardinality(memory_ids) AS many FROM recall.access_queue") == [
        {"many": len(block.hits)}
    ]
    assert query("SELECT id, query, session_id, shown FROM recall.search_log") == [
        {
            "id": block.search_id,
            "query": "harbour contract",
            "session_id": "s",
            "shown": [hit.id for hit in block.hits],
        }
    ]
    assert harbour.maintenance.fold() == 1


def test_nothing_is_logged_for_another_moment_or_on_request(
    harbour: Memory, query: Query, now: datetime
) -> None:
    assert harbour.context("harbour", log=False).search_id is None
    assert harbour.context("harbour", now=now + timedelta(days=1)).search_id is None
    assert query("SELECT FROM recall.search_log") == []
    harbour.context("harbour", budget_tokens=5)
    assert logged(query) == []
    assert query("SELECT shown FROM recall.search_log") == [{"shown": []}]


def test_a_replaced_memory_gives_way(harbour: Memory) -> None:
    harbour.supersede("gauge", "tea")
    harbour.supersede("tea", "dues")
    assert not {"gauge", "tea"} & set(keys(harbour.context("harbour gauge tea")))
    block = harbour.context("harbour gauge tea", include_superseded=True, min_relevance=0)
    assert {"gauge", "tea"} & set(keys(block)) == set()
    assert (left(block)["gauge"], left(block)["tea"]) == ("superseded", "superseded")
    without = harbour.context("harbour gauge", include_superseded=True, layers=("episodic",))
    assert keys(without) == ["gauge"]
    assert f"superseded by id {harbour.get('dues').id}\n" in without.text


def test_nothing_found_is_an_empty_block(memory: Memory, query: Query) -> None:
    block = memory.context("anything")
    assert block == ContextBlock("", 0, (), (), (), search_id=block.search_id, confidence=0)
    assert query("SELECT id, shown FROM recall.search_log") == [{"id": block.search_id, "shown": []}]
    assert logged(query) == []


def test_without_vectors_repeats_are_found_by_their_letters(settings: Settings) -> None:
    plain = replace(settings, embedder="none")
    with Memory(settings=plain) as memory:
        memory.remember("the harbour contract is signed", key="a")
        memory.remember("The harbour contract is signed!", key="b")
        memory.remember("the harbour gauge is read", key="c")
        block = memory.context("harbour")
    assert len(block.hits) == 2
    assert "c" in keys(block)
    assert [*left(block).values()] == ["near_duplicate"]
    assert block.skipped == (
        "meaning: no embedder is configured",
        "similarity in meaning: 3 of 3 memories have no vector to compare, so their near-duplicates were "
        "found by spelling",
    )


class Failing(HashEmbedder):
    """Embeds what is stored and fails at questions."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderError(f"The embedder is down, {len(texts)} texts wait.")


def test_words_answer_while_the_embedder_is_down(harbour: Memory, settings: Settings) -> None:
    with Memory(settings=settings, embedder=Failing(DIMENSIONS)) as memory:
        block = memory.context("harbour contract")
    assert block.hits
    assert block.skipped == ("meaning: The embedder is down, 1 texts wait.",)
    assert "near_duplicate" in left(block).values()


@pytest.fixture
def read_only(harbour: Memory, settings: Settings) -> Iterator[Memory]:
    url = settings.database_url
    assert url is not None
    closed = make_conninfo(url.get_secret_value(), options="-c default_transaction_read_only=on")
    with Memory(settings=replace(settings, database_url=SecretStr(closed))) as memory:
        yield memory


def test_a_database_that_is_only_read_answers_and_says_so(read_only: Memory, query: Query) -> None:
    block = read_only.context("harbour contract")
    assert block.hits
    assert block.search_id is None
    assert block.skipped == ("log: the database is read-only, so hits were not logged",)
    assert logged(query) == []


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"budget_tokens": 0}, "The budget is 0 tokens"),
        ({"budget_tokens": -1}, "The budget is -1 tokens"),
        ({"budget_tokens": 10**12}, "between 1 and 10,000,000"),
        ({"per_layer": {"nope": 1}}, "The layer 'nope' is unknown. Choose one of: activity, "),
        ({"per_layer": {"knowledge": -1}}, "The quota of the layer 'knowledge' is -1"),
        ({"k": 0}, "k is 0"),
        ({"k": 500}, "k is 500; a context is chosen from 1 to 200 memories"),
        ({"layers": ("nope",)}, "The layer 'nope' is unknown"),
        ({"session_id": "s" * 2000}, "session id"),
        ({"count_tokens": str.upper}, "token counter gave 'MEMORIES"),
    ],
)
def test_bad_input_is_refused_and_nothing_logged(
    harbour: Memory, query: Query, options: dict, part: str
) -> None:
    with pytest.raises(InvalidInput, match=part):
        harbour.context("harbour", **options)
    assert logged(query) == []


@pytest.mark.parametrize(("text", "part"), [("", "empty"), ("?! ...", "no letter or digit"), ("a\0b", "NUL")])
def test_an_unusable_question_is_refused_as_in_search(harbour: Memory, text: str, part: str) -> None:
    with pytest.raises(InvalidInput, match=part):
        harbour.context(text)


def test_what_a_counter_raises_reaches_its_caller(harbour: Memory) -> None:
    def count(text: str) -> int:
        raise DatabaseError("mine")

    with pytest.raises(DatabaseError, match="mine"):
        harbour.context("harbour", count_tokens=count)


def test_a_layer_of_ones_own_can_have_a_quota(harbour: Memory) -> None:
    harbour.layers.set("ship log")
    harbour.remember("harbour entered at noon", layer="ship log")
    block = harbour.context("harbour", per_layer={"ship log": 1})
    assert '· "ship log" ·' not in block.text.splitlines()[0]
    assert '] "ship log" · ' in block.text


def test_tenants_are_apart(harbour: Memory, settings: Settings) -> None:
    with Memory(settings=replace(settings, tenant="other")) as other:
        other.remember("the harbour of others")
        assert [one.body for one in other.context("harbour").hits] == ["the harbour of others"]


def test_the_same_block_twice(harbour: Memory, now: datetime) -> None:
    later = now + timedelta(days=1)
    block = harbour.context("harbour", now=later)
    assert len(block.hits) == 4
    assert harbour.context("harbour", now=later) == block


def test_no_model_library_is_loaded(harbour: Memory, database_url: str) -> None:
    code = (
        "import sys; from pgrecall import Memory, Settings; "
        f"m = Memory(settings=Settings(database_url={database_url!r}, tenant='acme', embedder='hash', "
        f"embedder_dimensions={DIMENSIONS})); assert m.context('harbour').hits; m.close(); "
        "print({'torch', 'sentence_transformers', 'onnxruntime'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_what_the_caller_leaves_out_and_what_is_not_confident_is_not_shown(memory: Memory) -> None:
    memory.remember("The ferry to Inishmore berths at the north quay.", key="ferry")
    memory.remember("The ferry to Inishmore takes no cars in winter.", key="cars")
    block = memory.context("where does the ferry to Inishmore berth?")
    assert {hit.key for hit in block.hits} == {"ferry", "cars"}
    assert block.confidence is not None
    left = memory.context("where does the ferry to Inishmore berth?", exclude=lambda hit: hit.key == "ferry")
    assert [hit.key for hit in left.hits] == ["cars"]
    assert [(one.key, one.reason) for one in left.left_out] == [("ferry", "excluded")]
    memory.remember("Two o'clock is too late for bread.", key="bread")
    rest = memory.context("where does the ferry to Inishmore berth?", exclude=lambda hit: hit.key != "bread")
    assert rest.hits == (), "what answers is known, and the rest does not answer"
    least = min(1.0, block.confidence + 1e-3)
    assert memory.context("where does the ferry to Inishmore berth?", min_confidence=least).text == ""
    assert memory.context("where does the ferry to Inishmore berth?", min_confidence=0.0).text
