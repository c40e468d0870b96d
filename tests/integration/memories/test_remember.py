"""remember and remember_many: what is stored, what is refused and how, and what happens at once."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from pgrecall import Draft, EmbedderError, EmbedderMismatch, InvalidInput, Memory, MemoryNotFound, Problem
from pgrecall.nouns.imports.batches import content_hash
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from pgrecall.settings import Settings
from tests.databases import Query
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.in_turns

TABLES = ("memory", "activation", "access", "link", "pending_link", "name", "lexeme", "setting", "layer")
VECTOR = "[" + ",".join(["1"] + ["0"] * 63) + "]"
OTHER_VECTOR = "[" + ",".join(["0"] * 63 + ["1"]) + "]"


def store(query: Query, *drafts: Any, model: str | None = None, skip: bool = False,
          now: datetime | None = None, tenant: str = "acme") -> list[dict[str, Any]]:  # fmt: skip
    return query(
        "SELECT * FROM recall.remember_many(%s::jsonb, %s, %s, coalesce(%s, now()))",
        (json.dumps(drafts), model, skip, now),
        tenant=tenant,
    )


def refusal(query: Query, *drafts: Any, **options: Any) -> str:
    """The sentence a call is refused with, once it has left every table as it was."""
    before = sizes(query)
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        store(query, *drafts, **options)
    assert sizes(query) == before
    return caught.value.diag.message_primary or ""


def sizes(query: Query) -> dict[str, int]:
    return {table: query(f"SELECT count(*) FROM recall.{table}")[0]["count"] for table in TABLES}


def row_of(query: Query, key: str, table: str = "memory", tenant: str = "acme") -> dict[str, Any]:
    join = "" if table == "memory" else f"JOIN recall.{table} x ON x.tenant = m.tenant AND x.memory_id = m.id"
    vector = (
        "(SELECT v.embedding::text FROM recall_private.stored_vectors(m.tenant, ARRAY[m.id]) v) AS vector"
    )
    columns = f"m.*, {vector}" if table == "memory" else "x.*"
    sql = f"SELECT {columns} FROM recall.memory m {join} WHERE m.tenant = %s AND m.key = %s"
    [row] = query(sql, (tenant, key))
    return row


def at_once(url: str, jobs: list[Callable[[psycopg.Connection[Any]], Any]]) -> list[Any]:
    """Runs each job on a connection and thread of its own, started together."""
    barrier = threading.Barrier(len(jobs))

    def run(job: Callable[[psycopg.Connection[Any]], Any]) -> Any:
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
            connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
            barrier.wait(timeout=PATIENCE)
            return job(connection)

    with ThreadPoolExecutor(len(jobs)) as threads:
        return list(threads.map(run, jobs))


# What is stored


def test_created_then_unchanged_then_updated(sql: Query) -> None:
    draft = {"key": "plan", "title": "Plan", "body": "Sail on Friday", "tags": ["sea"], "metadata": {"a": 1}}
    [first] = store(sql, draft)
    [again] = store(sql, draft)
    [changed] = store(sql, draft | {"body": "Sail on Monday"})
    assert [row["outcome"] for row in (first, again, changed)] == ["created", "unchanged", "updated"]
    assert first["id"] == again["id"] == changed["id"]
    assert row_of(sql, "plan")["body"] == "Sail on Monday"
    assert sizes(sql) | {"setting": 0, "layer": 0} == dict.fromkeys(TABLES, 0) | {
        "memory": 1, "activation": 1, "access": 2, "name": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "T"), ("layer", "episodic"), ("role", "user"), ("author", "Mira"), ("context", "c"),
        ("source", "s"), ("session_id", "x"), ("tags", ["t"]), ("aliases", ["a"]), ("metadata", {"k": 1}),
        ("occurred_at", "2026-01-01T00:00:00+00:00"), ("valid_from", "2026-01-01T00:00:00+00:00"),
        ("valid_until", "2026-01-01T00:00:00+00:00"), ("expires_at", "2026-01-01T00:00:00+00:00"),
        ("pinned", True),
    ],
)  # fmt: skip
def test_a_change_of_any_field_is_an_update(sql: Query, field: str, value: Any) -> None:
    store(sql, {"key": "k", "body": "b"})
    [row] = store(sql, {"key": "k", "body": "b", field: value})
    assert row["outcome"] == "updated"
    stored = row_of(sql, "k")[field]
    assert (stored.isoformat() if isinstance(stored, datetime) else stored) == value


def test_unchanged_keeps_the_time_of_the_last_update(sql: Query, now: datetime) -> None:
    store(sql, {"key": "k", "body": "b"}, now=now)
    store(sql, {"key": "k", "body": "b"}, now=now + timedelta(days=1))
    assert row_of(sql, "k")["updated_at"] == now
    store(sql, {"key": "k", "body": "c"}, now=now + timedelta(days=2))
    row = row_of(sql, "k")
    assert (row["created_at"], row["updated_at"]) == (now, now + timedelta(days=2))


def test_results_come_in_the_order_given(sql: Query) -> None:
    keys = [f"k{place}" for place in range(200)]
    random.Random(1).shuffle(keys)
    rows = store(sql, *({"key": key, "body": key} for key in keys))
    assert [row["item"] for row in rows] == list(range(1, 201))
    assert [row["key"] for row in rows] == keys
    by_id = {row["id"]: row["key"] for row in sql("SELECT id, key FROM recall.memory")}
    assert [by_id[row["id"]] for row in rows] == keys


def test_memories_without_a_key_are_new_every_time(sql: Query) -> None:
    rows = store(sql, {"body": "same"}, {"body": "same"}) + store(sql, {"body": "same"})
    assert [row["outcome"] for row in rows] == ["created"] * 3
    assert len({row["id"] for row in rows}) == 3


def test_no_drafts_store_nothing(query: Query, memory: Memory) -> None:
    assert store(query) == []
    assert memory.remember_many([]) == []


def test_a_title_alone_is_enough(sql: Query) -> None:
    assert store(sql, {"title": "Mira", "layer": "entity"})[0]["outcome"] == "created"


def test_nulls_mean_the_default(sql: Query) -> None:
    fields = ("title", "layer", "role", "context", "tags", "aliases", "metadata", "pinned", "links")
    store(sql, {"key": "k", "body": "b", "embedding": None} | dict.fromkeys(fields))
    row = row_of(sql, "k")
    assert (row["layer"], row["title"], row["tags"], row["metadata"], row["pinned"]) == (
        "knowledge", "", [], {}, False,
    )  # fmt: skip


def test_one_memory_through_plain_sql(sql: Query, now: datetime) -> None:
    [row] = sql(
        "SELECT recall.remember('the body', 'the title', 'k', 'episodic', 'user', 'Mira', 'ctx', '{a,b}', "
        "'{alias}', '{\"deep\": {\"null\": null}}', %s, '[{\"target\": \"x\"}]', %s, 'hash-64', %s) AS id",
        (now - timedelta(days=1), VECTOR, now),
    )
    stored = row_of(sql, "k")
    assert stored["id"] == row["id"]
    assert stored["metadata"] == {"deep": {"null": None}}
    assert (stored["vector"], stored["embedded_with"]) == (VECTOR, "hash-64")
    assert (stored["tags"], stored["aliases"], stored["role"]) == (["a", "b"], ["alias"], "user")
    assert sizes(sql)["pending_link"] == 1


def test_a_read_back_draft_is_the_draft(memory: Memory, now: datetime) -> None:
    draft = Draft(
        "Ein Körper — 身体 🜁\nwith\ttabs, 'quotes', \"more\", \\ and %s {}",
        title="Títle ﷽ e\u0301",
        key="ключ/é 🗝",
        layer="episodic",
        role="tool",
        author="Åsa Öberg",
        context="spoken on Friday",
        source="vault",
        session_id="s-1",
        tags=("été", "two words", ""),
        aliases=("Αλφα",),
        metadata={"n": 1.5, "deep": {"list": [1, None, {"x": "ü"}]}, "": ""},
        occurred_at=now - timedelta(days=3),
        valid_from=now - timedelta(days=2),
        valid_until=now + timedelta(days=2),
        expires_at=now + timedelta(days=9),
        pinned=True,
        speech_act="preference",
    )
    [row] = memory.remember_many([draft], now=now)
    stored = memory.get("ключ/é 🗝", now=now)
    assert row.id == stored.id
    for field in Draft.__dataclass_fields__:
        if field != "links":
            assert getattr(stored, field) == getattr(draft, field), field
    assert stored.embedded_with == "hash-64"
    assert memory.remember_many([draft])[0].outcome == "unchanged"


@pytest.mark.parametrize("links", [["quay"], "quay", 5, [("quay", "supports")], [{"target": "quay"}]])
def test_links_that_are_no_links_are_refused_in_a_sentence(memory: Memory, links: Any) -> None:
    """Keys in place of links are what one tries first."""
    with pytest.raises(InvalidInput, match=r"^The links of a memory are DraftLink values, not "):
        memory.remember("The ferry leaves at seven.", links=links)
    assert not memory.list()


def test_a_body_of_a_million_characters(memory: Memory) -> None:
    body = ("wörter und Wörter 漢字 " * 60_000)[:1_000_000]
    assert memory.remember(body, key="big").outcome == "created"
    assert memory.remember(body, key="big").outcome == "unchanged"
    assert memory.get("big").body == body


def test_a_body_of_many_different_words(sql: Query) -> None:
    chance = random.Random(3)
    body = " ".join(str(chance.getrandbits(40)) for _ in range(80_000))[:1_000_000]
    assert store(sql, {"key": "k", "body": body})[0]["outcome"] == "created"


def test_huge_metadata(memory: Memory) -> None:
    metadata = {f"field {place}": {"values": list(range(50))} for place in range(1_000)}
    memory.remember("b", key="k", metadata=metadata)
    assert memory.get("k").metadata == metadata


def test_the_content_hash_is_the_one_the_client_computes(sql: Query) -> None:
    store(sql, {"key": "k", "title": "Títle", "body": "Körper 漢"})
    assert row_of(sql, "k")["content_hash"] == content_hash(Draft("Körper 漢", title="Títle"))


def test_a_text_that_speaks_of_an_escape_is_no_nul(memory: Memory) -> None:
    body = r'In JSON a NUL is written "\u0000".'
    memory.remember(body, key="k")
    assert memory.get("k").body == body


# Embeddings


class CountingEmbedder(HashEmbedder):
    def __init__(self, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        self.texts: list[str] = []

    def embed(self, texts: Any) -> Vectors:
        self.texts.extend(texts)
        return super().embed(texts)


def test_only_new_and_changed_texts_are_embedded(settings: Settings) -> None:
    embedder = CountingEmbedder()
    with Memory(settings=settings, embedder=embedder) as memory:
        memory.remember("one", key="a")
        memory.remember("one", key="a", tags=("t",))
        memory.remember("two", key="a")
        memory.remember("two", key="a", title="T")
    assert embedder.texts == ["one", "two", "T\ntwo"]


def test_the_embedding_is_kept_when_the_content_is_unchanged(sql: Query) -> None:
    store(sql, {"key": "k", "body": "b", "embedding": VECTOR}, model="hash-64")
    assert store(sql, {"key": "k", "body": "b"})[0]["outcome"] == "unchanged"
    assert store(sql, {"key": "k", "body": "b", "author": "Mira"})[0]["outcome"] == "updated"
    row = row_of(sql, "k")
    assert (row["vector"], row["embedded_with"]) == (VECTOR, "hash-64")


def test_the_embedding_is_dropped_when_the_content_changed_without_one(sql: Query) -> None:
    store(sql, {"key": "k", "body": "b", "embedding": VECTOR}, model="hash-64")
    store(sql, {"key": "k", "body": "c"})
    row = row_of(sql, "k")
    assert (row["vector"], row["embedded_with"]) == (None, None)


def test_the_embedding_is_renewed_when_the_content_changed_with_one(sql: Query) -> None:
    store(sql, {"key": "k", "body": "b", "embedding": VECTOR}, model="hash-64")
    store(sql, {"key": "k", "body": "c", "embedding": OTHER_VECTOR}, model="hash-64")
    assert row_of(sql, "k")["vector"] == OTHER_VECTOR


def test_a_missing_embedding_is_added_later(sql: Query) -> None:
    store(sql, {"key": "k", "body": "b"})
    [row] = store(sql, {"key": "k", "body": "b", "embedding": VECTOR}, model="hash-64")
    assert row["outcome"] == "updated"
    assert row_of(sql, "k")["vector"] == VECTOR


def test_vectors_of_another_embedder_are_refused(sql: Query) -> None:
    store(sql, {"key": "k", "body": "b", "embedding": VECTOR}, model="hash-64")
    sentence = refusal(sql, {"key": "m", "body": "b", "embedding": VECTOR}, model="other-model")
    assert sentence == "This database holds embeddings of 'hash-64', not of 'other-model'."


def test_the_client_says_embedder_mismatch(query: Query, memory: Memory) -> None:
    store(query, {"body": "b", "embedding": VECTOR}, model="other-model")
    with pytest.raises(EmbedderMismatch, match="holds embeddings of 'other-model', not of 'hash-64'"):
        memory.remember("text")


def test_an_embedder_of_other_dimensions_is_refused_at_the_start(settings: Settings) -> None:
    with pytest.raises(EmbedderMismatch, match="hash-32 has 32 dimensions, this database 64"):
        Memory(settings=settings, embedder=HashEmbedder(32))


def test_a_vector_without_the_name_of_its_embedder_is_refused(sql: Query) -> None:
    sentence = refusal(sql, {"body": "b", "embedding": VECTOR})
    assert "p_embedded_with" in sentence


def test_a_refused_call_does_not_choose_the_embedder(sql: Query) -> None:
    refusal(sql, {"body": "", "embedding": VECTOR}, model="typo")
    assert store(sql, {"body": "b", "embedding": VECTOR}, model="hash-64")[0]["outcome"] == "created"


def test_a_failing_embedder_stores_nothing(settings: Settings, query: Query) -> None:
    class Failing(HashEmbedder):
        def embed(self, texts: Any) -> Vectors:
            raise EmbedderError(f"The model is gone, and {len(texts)} texts wait.")

    before = sizes(query)
    with Memory(settings=settings, embedder=Failing(64)) as memory, pytest.raises(EmbedderError):
        memory.remember("text", key="k")
    assert sizes(query) == before


# Birth


def test_creation_is_the_first_access(sql: Query, now: datetime) -> None:
    store(sql, {"key": "k", "body": "b"}, now=now)
    a, access = row_of(sql, "k", "activation"), row_of(sql, "k", "access")
    assert (a["n"], a["first_at"], a["t1"], a["t2"]) == (1, now.timestamp(), now.timestamp(), None)
    assert (a["decay"], a["clock"], a["credit"], a["in_degree"]) == (0.5, 1, 0, 0)
    assert (access["kind"], access["weight"], access["at"]) == ("write", 1, now)


def test_an_entity_is_born_with_two_accesses(sql: Query, now: datetime) -> None:
    store(sql, {"key": "k", "title": "Mira", "layer": "entity"}, now=now)
    a, access = row_of(sql, "k", "activation"), row_of(sql, "k", "access")
    assert (a["n"], a["t1"], a["t2"], a["t3"]) == (2, now.timestamp(), now.timestamp(), None)
    assert (a["decay"], a["clock"], access["weight"]) == (0.5, 0.1, 2)


def test_a_layer_of_the_tenants_own_decides_birth_and_rates(sql: Query, now: datetime) -> None:
    sql("INSERT INTO recall.layer (tenant, name, metabolic_rate, reading, base_decay, birth_weight) "
          "VALUES ('acme', 'dream', 2, 'exponent', 0.4, 10.5)")  # fmt: skip
    store(sql, {"key": "k", "body": "b", "layer": "dream"}, now=now)
    a = row_of(sql, "k", "activation")
    assert (a["n"], a["t8"], a["credit"]) == (10, now.timestamp(), 0.5)
    assert (a["decay"], a["clock"]) == (0.8, 1)
    [row] = store(sql, {"body": "b", "layer": "dream"}, skip=True, tenant="other")
    assert row["outcome"] == "rejected"


def test_a_memory_of_the_past_is_born_in_the_past(sql: Query, now: datetime) -> None:
    then = now - timedelta(days=400)
    store(sql, {"key": "k", "body": "b", "occurred_at": then.isoformat()}, now=now)
    assert row_of(sql, "k", "activation")["first_at"] == then.timestamp()
    assert row_of(sql, "k", "access")["at"] == then
    assert row_of(sql, "k")["happened_at"] == then


def test_a_memory_of_tomorrow_is_born_now(sql: Query, now: datetime) -> None:
    soon = now + timedelta(hours=5)
    store(sql, {"key": "k", "body": "b", "occurred_at": soon.isoformat()}, now=now)
    assert row_of(sql, "k", "activation")["t1"] == now.timestamp()


def test_rewriting_a_memory_is_a_write_of_it(sql: Query, now: datetime) -> None:
    later = now + timedelta(days=1)
    store(sql, {"key": "k", "body": "b"}, now=now)
    store(sql, {"key": "k", "body": "c"}, now=later)
    a = row_of(sql, "k", "activation")
    assert (a["n"], a["t1"], a["t2"]) == (2, later.timestamp(), now.timestamp())
    written = sql("SELECT kind, weight, at FROM recall.access ORDER BY at")
    assert written == [{"kind": "write", "weight": 1, "at": at} for at in (now, later)]


def test_new_tags_are_no_access(sql: Query, now: datetime) -> None:
    store(sql, {"key": "k", "body": "b"}, now=now)
    store(sql, {"key": "k", "body": "b", "tags": ["sea"]}, now=now + timedelta(days=1))
    a = row_of(sql, "k", "activation")
    assert (a["n"], a["t1"]) == (1, now.timestamp())


def test_a_change_of_layer_retunes_the_rates_and_keeps_the_history(sql: Query, now: datetime) -> None:
    store(sql, {"key": "k", "body": "b"}, now=now)
    store(sql, {"key": "k", "body": "b", "layer": "activity"}, now=now)
    a = row_of(sql, "k", "activation")
    assert (a["clock"], a["decay"], a["n"], a["t1"]) == (3, 0.5, 1, now.timestamp())


def test_entities_are_known_by_title_and_aliases(sql: Query) -> None:
    def names() -> list[str]:
        return [row["name"] for row in sql("SELECT name FROM recall.name WHERE entity ORDER BY name")]

    mira = {"key": "k", "title": "Mira  Okafor", "aliases": ["M.O.", " "], "layer": "entity"}
    store(sql, mira, {"title": "A note", "body": "b"})
    assert names() == ["m.o.", "mira okafor"]
    store(sql, mira | {"aliases": []})
    assert names() == ["mira okafor"]
    store(sql, mira | {"layer": "knowledge"})
    assert names() == []


# What is refused, and how

PAST = "2026-01-01T00:00:00+00:00"
RANDOM_KEY = "".join(chr(random.Random(5).randint(0x4E00, 0x9FFF)) for _ in range(1000))


@pytest.mark.parametrize(
    ("draft", "clause"),
    [
        ({"body": "b", "colour": "red", "Body": ""}, "it has unknown fields: Body, colour"),
        ({}, "it has neither a title nor a body"),
        ({"title": " ", "body": "\n\t "}, "it has neither a title nor a body"),
        ({"body": "x" * 1_000_001}, "its body has 1000001 characters, more than 1,000,000; split it"),
        ({"body": "b", "title": "x" * 1_001}, "its title has 1001 characters, more than 1,000"),
        ({"body": "b", "key": ""}, "its key has 0 characters; a key has 1 to 1,000"),
        ({"body": "b", "key": "k" * 1_001}, "its key has 1001 characters; a key has 1 to 1,000"),
        ({"body": "b", "layer": "dreams"},
         "its layer 'dreams' is unknown; there are activity, entity, episodic, knowledge"),
        ({"body": "b", "role": "robot"}, "its role 'robot' is none of user, assistant, system, tool"),
        ({"body": "b", "occurred_at": "infinity"}, "one of its times lies outside the years 1 to 9999"),
        ({"body": "b", "expires_at": "-infinity"}, "one of its times lies outside the years 1 to 9999"),
        ({"body": "b", "valid_from": "0044-03-15 BC"}, "one of its times lies outside the years 1 to 9999"),
        ({"body": "b", "occurred_at": "2026-06-03T12:00:00Z"},
         "its occurred_at 2026-06-03 12:00:00+00 lies in the future; give valid_from for what is to come"),
        ({"body": "b", "valid_from": "2026-02-01Z", "valid_until": "2026-01-01Z"},
         "its valid_from 2026-02-01 00:00:00+00 lies after its valid_until 2026-01-01 00:00:00+00"),
        ({"body": "b", "embedding": "[1,2,3]"}, "its embedding has 3 dimensions, this database 64; "
         "embed with the model it was made for"),
        ({"body": "b", "metadata": [1]}, "its metadata is not a JSON object"),
        ({"body": "b", "links": {"target": "x"}}, "its links are not a JSON array of objects"),
        ({"body": "b", "links": ["x"]}, "its links are not a JSON array of objects"),
        ({"body": "b", "links": [{"relation": "next"}]},
         "a link of it has no target of 1 to 1,000 characters"),
        ({"body": "b", "links": [{"target": "x" * 1_001}]},
         "a link of it has no target of 1 to 1,000 characters"),
        ({"body": "b", "links": [{"target": "x", "relation": "hates"}]},
         "its link relation 'hates' is unknown"),
        ({"body": "b", "links": [{"target": "x", "weight": 0}]},
         "its link weight 0 is not above 0 and at most 100"),
        ({"body": "b", "links": [{"target": "x", "weight": 100.5}]},
         "its link weight 100.5 is not above 0 and at most 100"),
    ],
)  # fmt: skip
def test_a_draft_that_cannot_be_stored(sql: Query, now: datetime, draft: Any, clause: str) -> None:
    sql("SET timezone = 'UTC'")
    good = {"key": "good", "body": "b", "links": [{"target": "later"}]}
    sentence = refusal(sql, good, draft, model="hash-64", now=now)
    assert sentence == f"Draft 2 cannot be stored: {clause}."

    rows = store(sql, draft, good, model="hash-64", skip=True, now=now)
    assert [(row["outcome"], row["problem"]) for row in rows] == [("rejected", clause), ("created", None)]
    assert rows[0]["id"] is None
    assert sizes(sql)["memory"] == sizes(sql)["activation"] == sizes(sql)["access"] == 1


@pytest.mark.parametrize(
    ("draft", "value"),
    [
        ({"body": "b", "occurred_at": "the day before"}, "the day before"),
        ({"body": "b", "occurred_at": "2026-13-45"}, "2026-13-45"),
        ({"body": "b", "pinned": "perhaps"}, "perhaps"),
        ({"body": "b", "tags": "not-a-list"}, "tags"),
        ({"body": "b", "aliases": {"a": 1}}, "aliases"),
        ({"body": "b", "embedding": "[1,2"}, "embedding"),
        ({"body": "b", "embedding": "[" + ",".join(["NaN"] * 64) + "]"}, "embedding"),
        ({"body": "b", "embedding": "[" + ",".join(["1e9"] * 64) + "]"}, "embedding"),
        ({"body": "b", "embedding": "[" + ",".join(["0"] * 64) + "]"}, "embedding"),
        ({"body": "b", "embedding": [["1"]]}, "embedding"),
        ({"body": "b", "links": [{"target": "x", "weight": "heavy"}]}, "heavy"),
        ({"body": "b", "links": [{"target": "x", "weight": "NaN"}]}, "NaN"),
        ({"body": "b", "key": RANDOM_KEY}, "key"),
        ({"body": "b", "author": RANDOM_KEY}, "author"),
        ({"body": "b", "source": RANDOM_KEY}, "source"),
        ({"body": "b", "tags": [RANDOM_KEY + str(place) for place in range(500)]}, "tags"),
        ({"body": "b", "aliases": [RANDOM_KEY + str(place) for place in range(500)]}, "aliases"),
        ({"body": "b", "links": [{"target": RANDOM_KEY}]}, "target"),
    ],
)
def test_a_value_of_the_wrong_form_is_rejected_like_any_other(sql: Query, draft: Any, value: str) -> None:
    sentence = refusal(sql, {"body": "good"}, draft, model="hash-64")
    assert sentence.startswith("Draft 2 cannot be stored: ")
    assert value in sentence
    assert len(sentence) < 300
    rows = store(sql, draft, {"body": "good"}, model="hash-64", skip=True)
    assert [row["outcome"] for row in rows] == ["rejected", "created"]


def test_a_key_twice_in_one_call_names_the_key(sql: Query) -> None:
    drafts = [{"key": "k", "body": "one"}, {"key": "m", "body": "b"}, {"key": "k", "body": "two"}]
    clause = "its key 'k' stands in this call 2 times; a key names one memory"
    assert refusal(sql, *drafts) == f"Draft 1 cannot be stored: {clause}."
    rows = store(sql, *drafts, skip=True)
    assert [row["outcome"] for row in rows] == ["rejected", "created", "rejected"]
    assert rows[2]["problem"] == clause


@pytest.mark.parametrize("items", ["{}", "1", '"x"', "null", "[1]", "[null]", '[{"body": "b"}, "x"]', "[[]]",
                                   '[[{"body": "b"}]]'])  # fmt: skip
def test_drafts_that_are_no_array_of_objects(sql: Query, items: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="must be a JSON array of objects"):
        sql("SELECT * FROM recall.remember_many(%s::jsonb)", (items,))
    assert sizes(sql)["memory"] == 0


def test_no_array_at_all(sql: Query) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="must be a JSON array of objects"):
        sql("SELECT * FROM recall.remember_many(NULL)")


@pytest.mark.parametrize("tenant", ["", "*"])
def test_no_tenant_is_a_clear_error(sql: Query, tenant: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        sql("SELECT recall.remember('b')", tenant=tenant)
    assert caught.value.diag.message_primary == "No tenant is set for this transaction."
    assert "set_config('recall.tenant'" in (caught.value.diag.message_hint or "")


def test_no_tenant_was_ever_set(database_url: str) -> None:
    with (
        psycopg.connect(database_url) as connection,
        pytest.raises(psycopg.errors.InvalidParameterValue, match="No tenant is set"),
    ):
        connection.execute("SELECT recall.remember('b')")


def test_the_client_refuses_with_the_same_sentence_and_stores_nothing(memory: Memory, query: Query) -> None:
    before = sizes(query)
    with pytest.raises(InvalidInput, match=r"^Draft 2 cannot be stored: its layer 'dreams' is unknown"):
        memory.remember_many([Draft("good"), Draft("bad", layer="dreams")])
    assert sizes(query) == before


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"title": "a\x00b"}, "NUL"),
        ({"title": "\ud800"}, "half a character"),
        ({"metadata": {"x": float("nan")}}, "not JSON compliant"),
        ({"metadata": {"x": object()}}, "type object cannot be stored"),
    ],
)
def test_the_client_refuses_what_json_cannot_hold(
    memory: Memory, query: Query, fields: Any, message: str
) -> None:
    before = sizes(query)
    with pytest.raises(InvalidInput, match=message):
        memory.remember("b", **fields)
    assert sizes(query) == before


def test_deep_metadata_is_read_however_often(memory: Memory) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"in": deep}
    number = memory.remember("Nested.", metadata=deep).id
    assert all(memory.get(number).metadata == deep for _ in range(250))


def test_the_client_refuses_what_is_no_draft(memory: Memory, query: Query) -> None:
    wrong: Any = {"body": "Another."}
    before = sizes(query)
    with pytest.raises(InvalidInput, match=r"^Draft 2 is a dict; make it with pgrecall\.Draft"):
        memory.remember_many([Draft(body="One note."), wrong])
    assert sizes(query) == before


def test_the_client_refuses_an_empty_key(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="key has 0 characters"):
        memory.remember("b", key="")


# Tenants


def test_the_same_key_in_two_tenants_is_two_memories(sql: Query) -> None:
    [ours] = store(sql, {"key": "k", "body": "ours"})
    [theirs] = store(sql, {"key": "k", "body": "theirs"}, tenant="other")
    assert (theirs["outcome"], ours["id"] == theirs["id"]) == ("created", False)
    [again] = store(sql, {"key": "k", "body": "changed"}, tenant="other")
    assert (again["outcome"], row_of(sql, "k")["body"]) == ("updated", "ours")


def test_a_client_sees_only_its_tenant(memory: Memory, settings: Settings) -> None:
    ours = memory.remember("ours", key="k").id
    with Memory(settings=settings, tenant="other", embedder=HashEmbedder(64)) as other:
        for reference in ("k", ours):
            with pytest.raises(MemoryNotFound, match="in this tenant"):
                other.get(reference)
        assert other.status().memories == 0
    assert memory.get("k").body == "ours"


# At once


def test_upserts_of_the_same_keys_at_once(database_url: str, query: Query) -> None:
    def job(worker: int) -> Callable[[psycopg.Connection[Any]], Any]:
        def run(connection: psycopg.Connection[Any]) -> list[dict[str, Any]]:
            rows = []
            chance = random.Random(worker)
            for turn in range(15):
                drafts = [
                    {"key": f"k{place}", "body": f"turn {turn} of {worker}",
                     "layer": chance.choice(["entity", "activity"]),
                     "links": [{"target": f"k{chance.randrange(25)}"} for _ in range(4)]}
                    for place in chance.sample(range(20), 20)
                ]  # fmt: skip
                rows += connection.execute(
                    "SELECT * FROM recall.remember_many(%s::jsonb)", (json.dumps(drafts),)
                ).fetchall()
            return rows

        return run

    results = at_once(database_url, [job(worker) for worker in range(4)])
    assert all(row["id"] is not None for rows in results for row in rows)
    created = [row["key"] for rows in results for row in rows if row["outcome"] == "created"]
    assert sorted(created) == sorted(f"k{place}" for place in range(20))
    counts = sizes(query)
    assert (counts["memory"], counts["activation"]) == (20, 20)
    # Each of the 60 calls wrote every memory. Of the four that came first, three may have waited for a memory
    # they could not see yet, and cannot tell that they rewrote it.
    assert 57 * 20 <= counts["access"] <= 60 * 20
    assert query("SELECT DISTINCT recall.rebuild() AS changed") == [{"changed": 0}]
    retuned = query("SELECT m.key FROM recall.memory m JOIN recall.activation a ON a.memory_id = m.id "
                    "WHERE a.clock <> CASE m.layer WHEN 'entity' THEN 0.1 ELSE 3 END")  # fmt: skip
    assert retuned == []
    miscounted = query(
        "SELECT a.memory_id, a.in_degree, count(DISTINCT l.src) FROM recall.activation a "
        "LEFT JOIN recall.link l ON l.dst = a.memory_id "
        "GROUP BY 1, 2 HAVING a.in_degree <> count(DISTINCT l.src)"
    )
    assert miscounted == []


def test_the_same_draft_at_once_gives_both_callers_the_id(database_url: str, query: Query) -> None:
    drafts = json.dumps([{"key": "k", "body": "b", "links": [{"target": "later"}]}])
    sql = "SELECT * FROM recall.remember_many(%s::jsonb)"
    with psycopg.connect(database_url, row_factory=dict_row) as first:
        first.execute("SELECT set_config('recall.tenant', 'acme', true)")
        [mine] = first.execute(sql, (drafts,)).fetchall()
        with ThreadPoolExecutor(1) as thread:
            other = thread.submit(query, sql, (drafts,))
            blocked(first)
            first.commit()
            [theirs] = other.result(timeout=PATIENCE)
    assert (mine["outcome"], theirs["outcome"]) == ("created", "unchanged")
    assert mine["id"] == theirs["id"]


def test_the_first_embedder_is_chosen_once_by_many_at_once(database_url: str, query: Query) -> None:
    def job(worker: int) -> Callable[[psycopg.Connection[Any]], Any]:
        def run(connection: psycopg.Connection[Any]) -> str | None:
            call = ("SELECT * FROM recall.remember_many(%s::jsonb, %s)",
                    (json.dumps([{"body": "b", "embedding": VECTOR}]), f"m{worker}"))  # fmt: skip
            try:
                connection.execute(*call)
            except psycopg.errors.InvalidParameterValue as error:
                return error.diag.constraint_name
            return None

        return run

    outcomes = at_once(database_url, [job(worker) for worker in range(4)])
    assert sorted(outcomes, key=str) == [None, *["embedder_mismatch"] * 3]
    assert len(query("SELECT DISTINCT embedded_with FROM recall.memory")) == 1


def test_clients_in_threads_share_one_memory(memory: Memory) -> None:
    with ThreadPoolExecutor(4) as threads:
        rows = list(threads.map(lambda place: memory.remember("b", key=f"k{place % 5}"), range(40)))
    assert len({row.id for row in rows}) == 5
    assert memory.status(now=datetime.now(UTC)).memories == 5


# Importing


def test_a_strict_import_stops_with_the_problem_as_one_sentence(memory: Memory, query: Query) -> None:
    items = [Problem("notes/a.md", "The file is empty."), Draft("b", key="b")]
    with pytest.raises(InvalidInput) as caught:
        memory.import_drafts(items, source="notes", strict=True)
    assert caught.value.message == "notes/a.md: The file is empty."
    assert sizes(query)["memory"] == 0


def test_an_import_takes_what_a_source_says_later_of_the_same_key(memory: Memory, query: Query) -> None:
    items = [
        Draft(body, key=key, source="notes") for body, key in (("first", "k"), ("other", None), ("last", "k"))
    ]
    report = memory.import_drafts(items, source="notes")
    assert (report.created, report.updated, report.problems) == (2, 1, ())
    assert query("SELECT body FROM recall.memory ORDER BY id") == [
        {"body": "last"},
        {"body": "other"},
    ]
