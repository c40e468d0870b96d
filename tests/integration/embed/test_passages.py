"""Passages of long memories: what stands at the end of a long text is found by meaning, and shown."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import psycopg
import pytest

from pgrecall import Draft, InvalidInput, Memory
from pgrecall.nouns.embedding import TokenSigns
from pgrecall.nouns.imports.batches import UNREAD
from pgrecall.nouns.search.models import Hit
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from tests.conftest import DIMENSIONS
from tests.databases import Query

READ = 1500
"""Characters that the embedder of these tests reads, of whatever length the text is."""

ANSWER = "The harbour master mends the winch with tar."
FILLER = "Accounts of rent, bread and candles fill another ledger page again. "
MEANING = {"lexical": 0.0, "name": 0.0, "author": 0.0, "graph": 0.0, "period": 0.0, "cue": 0.0}


class Head(HashEmbedder):
    """Reads the beginning of a text, as models do, and each word once."""

    def __init__(self) -> None:
        super().__init__(DIMENSIONS)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return super().embed([" ".join(dict.fromkeys(text[:READ].split())) for text in texts])

    def embed_with_tokens(self, texts: Sequence[str], max_signs: int) -> list[tuple[list[float], TokenSigns]]:
        return super().embed_with_tokens([text[:READ] for text in texts], max_signs)


class Renamed(Head):
    def __init__(self) -> None:
        super().__init__()
        self.name = "another"


def long_text(end: str = ANSWER, size: int = 20_000) -> str:
    return (FILLER * (size // len(FILLER) + 1))[: size - len(end) - 2] + "\n\n" + end


def vectors_of(rows: Iterable[Sequence[float]]) -> list[str]:
    return [str([round(float(value), 5) for value in row]) for row in rows]


@pytest.fixture
def memory(database_url: str) -> Any:
    with Memory(database_url, tenant="acme", embedder=Head()) as opened:
        yield opened


def by_meaning(
    memory: Memory, query: str = "harbour master mends winch with tar", **options: Any
) -> list[Hit]:
    found = memory.search(query, weights=MEANING, vitality_mode="off", log=False, **options)
    return list(found.hits)


def parts(query: Query, table: str = "vector_shared") -> dict[int, list[tuple[int, bool]]]:
    found: dict[int, list[tuple[int, bool]]] = {}
    for row in query(f"SELECT memory_id, part, archived FROM recall.{table} WHERE part > 0 ORDER BY 1, 2"):
        found.setdefault(row["memory_id"], []).append((row["part"], row["archived"]))
    return found


def counts(query: Query) -> dict[int, int | None]:
    return {row["id"]: row["passage_count"] for row in query("SELECT id, passage_count FROM recall.memory")}


def problems(memory: Memory) -> dict[str, int]:
    return {check.name: check.problems for check in memory.maintenance.verify() if check.problems}


def stored(memory: Memory, count: int = 60) -> int:
    """A long memory with the answer at its end, among short ones."""
    [long] = memory.remember_many([Draft(long_text(), title="Ledger", key="long")])
    memory.remember_many([Draft(f"Winch number {n} was painted.", key=f"n{n}") for n in range(count)])
    return long.id


def test_an_answer_at_the_end_of_a_long_memory_is_found_by_meaning_and_its_passage_shown(
    memory: Memory, query: Query
) -> None:
    long = stored(memory)
    hit = by_meaning(memory)[0]
    assert hit.id == long
    assert hit.passage is not None
    assert ANSWER in hit.passage.text
    assert hit.body[hit.passage.start : hit.passage.end] == hit.passage.text
    assert len(hit.passage.text) < 2000
    assert len(parts(query)[long]) == counts(query)[long] > 10
    assert problems(memory) == {}


def test_without_its_passages_it_is_not_found(memory: Memory, query: Query) -> None:
    """So the test above shows what passages are for."""
    long = stored(memory)
    query("DELETE FROM recall.vector_shared WHERE part > 0")
    assert by_meaning(memory)[0].id != long
    assert problems(memory) == {"passages": 1}


def test_a_short_memory_has_no_passages(memory: Memory, query: Query) -> None:
    memory.remember("A short note about the winch.")
    assert parts(query) == {}
    assert list(counts(query).values()) == [0]
    assert by_meaning(memory)[0].passage is None


def test_one_memory_is_one_hit_however_many_of_its_passages_match(memory: Memory) -> None:
    memory.remember((ANSWER + "\n\n" + FILLER * 12 + "\n\n") * 20, key="long")
    for n in range(70):
        memory.remember(f"Winch {n} and tar.", key=f"n{n}")
    hits = by_meaning(memory, k=50)
    assert len({hit.id for hit in hits}) == len(hits) == 50


@pytest.mark.parametrize("housed", [False, True])
def test_passages_go_where_their_memory_goes(memory: Memory, query: Query, housed: bool) -> None:
    long = stored(memory)
    table = "vector_shared"
    if housed:
        assert query("SELECT recall.move_vectors_to_own_table(10) AS moved")[0]["moved"] > 60
        table = query("SELECT recall_private.vector_table('acme') AS name")[0]["name"]
        assert table != "vector_shared"
        assert parts(query) == {}
    before = parts(query, table)[long]
    memory.forget("long")
    assert [archived for _, archived in parts(query, table)[long]] == [True] * len(before)
    assert by_meaning(memory, include_archived=True)[0].id == long
    memory.remember(long_text(), title="Ledger", key="long")  # comes back as it was
    assert parts(query, table)[long] == before
    memory.remember_many([Draft("Short now.", title="Ledger", key="long")])
    assert parts(query, table) == {}
    memory.remember_many([Draft(long_text(size=5000), title="Ledger", key="long")])
    assert 0 < len(parts(query, table)[long]) < len(before)
    assert problems(memory) == {}
    memory.forget("long", hard=True)
    assert parts(query, table) == {}
    assert problems(memory) == {}


@pytest.mark.parametrize("many", [30, 4100])
def test_memories_with_many_passages_leave_room_for_others(memory: Memory, query: Query, many: int) -> None:
    """Their passages are nearest of all; the arm looks on until it has enough memories."""
    embed = HashEmbedder(DIMENSIONS).embed
    near = np.asarray(embed(["near"])[0])
    # All a little different: HNSW does not find its way among many equal vectors.
    around = np.random.default_rng(1).normal(near, 0.02, (600, DIMENSIONS))
    for statement, parameters in (
        ("INSERT INTO recall.memory (tenant, layer, body, embedded_with, passage_count) "
         f"SELECT 'acme', 'knowledge', 'note ' || n, 'hash-{DIMENSIONS}', "
         "CASE WHEN n <= 10 THEN 60 ELSE 0 END "
         "FROM generate_series(1, %s) n", (many,)),
        ("INSERT INTO recall.vector_shared (tenant, memory_id, embedding) "
         "SELECT 'acme', m.id, v.text::halfvec FROM unnest(%s::text[]) WITH ORDINALITY v(text, n) "
         "JOIN recall.memory m ON m.body = 'note ' || v.n",
         (vectors_of(embed([f"far {n}" for n in range(many)])),)),
        ("INSERT INTO recall.vector_shared (tenant, memory_id, embedding, part, passage_start, passage_end) "
         "SELECT 'acme', m.id, v.text::halfvec, (v.n - 1) / 10 + 1, 0, 4 "
         "FROM unnest(%s::text[]) WITH ORDINALITY v(text, n) "
         "JOIN recall.memory m ON m.body = 'note ' || mod(v.n - 1, 10) + 1",
         (vectors_of(around),)),
        ("SELECT recall.move_vectors_to_own_table(4000)", ()),
    ):  # fmt: skip
        query(statement, parameters)
    [table] = query("SELECT recall_private.vector_table('acme') AS name")
    for _ in range(5):
        [row] = query(
            "SELECT count(*) AS n, count(DISTINCT u.id) AS ids, "
            "count(*) FILTER (WHERE u.similarity > 0.8) AS near "
            "FROM recall_private.semantic_arm('acme', %s::halfvec, 20, recall_private.read_filter('{}')) a, "
            "unnest(a.ids, a.similarities) u(id, similarity)",
            (str(near.tolist()),),
        )
        if row["near"] == 10:
            break
        # An HNSW index is made by chance, and one in twenty has no way to vectors so far from all others.
        query(f"REINDEX TABLE recall.{table['name']}")
    assert (row["n"], row["ids"], row["near"]) == (20, 20, 10)


def test_the_job_adds_passages_to_memories_that_are_there(memory: Memory, query: Query) -> None:
    query(
        "SELECT recall.remember(%s, 'Ledger', p_embedding => %s::halfvec, p_embedded_with => %s)",
        (long_text(), str(Head().embed([long_text()])[0]), f"hash-{DIMENSIONS}"),
    )
    assert list(counts(query).values()) == [None]
    before = memory.status()
    assert (before.passages, before.awaiting_passages) == (0, 1)
    reached: list[tuple[int, int | None]] = []
    [outcome] = memory.jobs.run("embed", progress=lambda _, done, of: reached.append((done, of)))
    assert reached[-1] == (1, 1)
    assert outcome.state == "done"
    [count] = counts(query).values()
    assert count == len(next(iter(parts(query).values()))) > 10
    after = memory.status()
    assert (after.passages, after.awaiting_passages) == (count, 0)
    [again] = memory.jobs.run("embed")
    assert again.counts == {}
    assert problems(memory) == {}


def test_an_export_keeps_passages(memory: Memory) -> None:
    stored(memory)
    file = io.BytesIO()
    memory.export.write(file)
    copy = memory.for_tenant("copy")
    copy.export.read(io.BytesIO(file.getvalue()))
    assert problems(copy) == {}
    [before], [after] = (by_meaning(one, k=1) for one in (memory, copy))
    assert after.passage == before.passage is not None


def test_a_damaged_passage_is_not_imported(memory: Memory, query: Query) -> None:
    stored(memory)
    file = io.BytesIO()
    memory.export.write(file)
    damaged = file.getvalue().replace(b'"part": 1,', b'"part": 0,', 1)
    with pytest.raises(InvalidInput, match="passage"):
        memory.for_tenant("copy").export.read(io.BytesIO(damaged))
    assert query("SELECT count(*) AS n FROM recall.memory WHERE tenant = 'copy'") == [{"n": 0}]


BAD = {
    "no array": '{"passages": 3}',
    "no span": '{"passages": [{"embedding": "[1]"}]}',
    "beyond the body": '{"passages": [{"start": 0, "end": 100, "embedding": "VECTOR"}]}',
    "backwards": '{"passages": [{"start": 3, "end": 2, "embedding": "VECTOR"}]}',
    "another dimension": '{"passages": [{"start": 0, "end": 2, "embedding": "[1, 2]"}]}',
    "zero": '{"passages": [{"start": 0, "end": 2, "embedding": "ZERO"}]}',
    "a fraction": '{"passages": [{"start": 0.5, "end": 2, "embedding": "VECTOR"}]}',
    "too many": '{"passages": [' + ", ".join(['{"start": 0, "end": 2, "embedding": "VECTOR"}'] * 1201) + "]}",
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_passages_that_cannot_be_are_refused(query: Query, bad: str) -> None:
    vector = str([1.0] * DIMENSIONS)
    item = '{"body": "some text", "embedding": "VECTOR"}'.replace("VECTOR", vector)
    bad = bad.replace("VECTOR", vector).replace("ZERO", str([0.0] * DIMENSIONS))
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="passage"):
        query("SELECT recall.remember_many(jsonb_build_array(%s::jsonb || %s::jsonb), 'm')", (item, bad))
    assert counts(query) == {}


HUGE = {
    "a million characters": "Ledger page again. " * 52_600,
    "one word": "winch" * 200_000,
    "one word repeated": "winch " * 160_000,
    "no spaces": "\u6e2f" * 300_000,
    "blank beyond": "A note." + " \n" * 400_000 + "x",
    "blank": "A note." + "\n" * 900_000,
}


@pytest.mark.parametrize("body", HUGE.values(), ids=HUGE)
def test_a_huge_memory_has_a_bounded_number_of_passages(memory: Memory, query: Query, body: str) -> None:
    memory.remember(body[:1_000_000], title="Huge")
    assert sum(map(len, parts(query).values())) <= 1200
    assert problems(memory) == {}
    assert len(by_meaning(memory, "note winch ledger")) == 1


def test_characters_without_a_vector_are_reported(memory: Memory) -> None:
    long = "\u6e2f" * 310_000
    stored = memory.remember(long, key="long")
    assert 5_000 < stored.unread < 15_000
    assert memory.remember("A short one.").unread == 0
    assert memory.edit("long", body=f"{long}\u6e2f").unread == stored.unread + 1
    report = memory.import_drafts(
        [Draft(f"{long}{n}", key=f"k{n}") for n in range(2)] + [Draft("A note.")], source="s"
    )
    assert [(one.what, one.count) for one in report.skipped] == [(UNREAD, 2 * (stored.unread + 1))]


@pytest.mark.parametrize("housed", [False, True])
def test_the_end_of_a_million_characters_is_found_by_meaning(
    memory: Memory, query: Query, housed: bool
) -> None:
    [long] = memory.remember_many([Draft(long_text(size=1_000_000), key="long")])
    memory.remember_many([Draft(f"Winch number {n} was painted.", key=f"n{n}") for n in range(60)])
    if housed:
        assert query("SELECT recall.move_vectors_to_own_table(10) AS moved")[0]["moved"] > 500
    hits = {hit.id: hit for hit in by_meaning(memory, k=50)}
    passage = hits[long.id].passage
    assert passage is not None
    assert passage.start > 990_000
    assert ANSWER in passage.text


def test_the_job_embeds_long_memories_a_few_at_a_time(
    memory: Memory, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vectors of their passages would not fit into one statement."""
    monkeypatch.setattr("pgrecall.jobs.embedding.CHARACTERS", 50_000)
    for place in range(5):
        query("SELECT recall.remember(%s)", (long_text(f"Ledger {place} ends.", 30_000),))
    reached: list[int] = []
    memory.jobs.run("embed", progress=lambda _, done, _of: reached.append(done))
    assert sorted({done for done in reached if done}) == [2, 4, 5]
    assert min(count or 0 for count in counts(query).values()) > 20
    assert problems(memory) == {}


def test_passages_of_another_embedder_are_ignored_and_reported(memory: Memory, query: Query) -> None:
    stored(memory, 3)
    query("UPDATE recall.memory SET embedded_with = 'another' WHERE key = 'long'")
    found = memory.search("harbour master mends winch with tar ledger", log=False)
    [hit] = [hit for hit in found.hits if hit.key == "long"]
    assert hit.passage is None
    assert any(reason.startswith("passages: ") for reason in found.skipped)


def test_a_new_embedder_replaces_the_passages(memory: Memory, query: Query, database_url: str) -> None:
    long = stored(memory, 3)
    before = parts(query)[long]
    with Memory(database_url, tenant="acme", embedder=Renamed()) as other:
        [outcome] = other.jobs.run("reembed")
        assert outcome.state == "done"
        assert problems(other) == {}
        assert by_meaning(other)[0].passage is not None
    assert parts(query)[long] == before


def test_a_context_that_must_cut_shows_the_passage(memory: Memory) -> None:
    stored(memory, 3)
    block = memory.context("Who mends the winch with tar?", budget_tokens=900)
    assert ANSWER in block.text


def test_another_tenant_sees_no_passage(memory: Memory, query: Query) -> None:
    stored(memory, 3)
    other = memory.for_tenant("globex")
    other.remember("Nothing of note.")
    assert [hit.passage for hit in by_meaning(other, k=50)] == [None]
    assert query("SELECT count(*) AS n FROM recall_private.stored_passages('globex', NULL)") == [{"n": 0}]


def test_an_edited_long_memory_has_its_passages_at_once(memory: Memory, query: Query) -> None:
    number = stored(memory)
    before = parts(query)[number]
    memory.edit("long", body=long_text("The barometer fell in the night.", 12_000))
    after = parts(query)[number]
    assert 0 < len(after) < len(before)
    assert counts(query)[number] == len(after)
    assert by_meaning(memory, "barometer fell in the night")[0].id == number
    assert problems(memory) == {}
    memory.edit("long", tags=("kept",))
    assert parts(query)[number] == after
    memory.edit("long", body="A short note.")
    assert (parts(query).get(number), counts(query)[number]) == (None, 0)
    assert problems(memory) == {}


def test_an_edit_with_an_embedding_of_another_text_waits_for_the_job(memory: Memory, query: Query) -> None:
    number = stored(memory, 3)
    embedded = json.dumps({"content_hash": "0", "embedding": str([1.0] * DIMENSIONS)})
    name = memory.embedder.name if memory.embedder else ""
    call = 'SELECT outcome FROM recall.edit(%s, \'{"body": "new"}\', %s, %s)'
    assert query(call, [number, embedded, name]) == [{"outcome": "updated"}]
    [left] = query("SELECT embedded_with FROM recall.memory WHERE id = %s", [number])
    assert (left["embedded_with"], parts(query).get(number)) == (None, None)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="must be a JSON object with content_hash"):
        query(call, [number, "[]", name])
    assert problems(memory) == {}
