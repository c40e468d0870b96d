"""Exports of mem0 and Hindsight: what they say arrives, and every bad record is one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput
from pgrecall.importers.detect import known_kind, open_source
from pgrecall.importers.hindsight.reader import read_hindsight
from pgrecall.importers.mem0 import read_mem0
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft, DraftLink

Write = Callable[[object], Path]

MEMORY = {
    "id": "m-1", "memory": " Likes tea. ", "hash": "5d41", "user_id": "ann", "run_id": "talk-7",
    "role": "user", "metadata": {"room": "kitchen"}, "categories": ["food", "food "],
    "created_at": "2026-01-02T03:04:05-07:00", "updated_at": "2026-01-03T00:00:00Z",
    "expiration_date": "2026-12-31", "score": 0.5, "immutable": True,
}  # fmt: skip
FACT = {
    "id": "f-1", "text": "Mira signed.", "context": "harbour", "date": "2026-01-02T00:00:00+00:00",
    "fact_type": "experience", "document_id": "talk-7", "occurred_start": "2026-01-01T00:00:00Z",
    "occurred_end": "", "mentioned_at": "2026-01-02T00:00:00Z", "entities": "Mira (PERSON), Harbour Trust",
    "tags": ["user:ann"], "metadata": {"from": "slack"}, "proof_count": 2, "state": "valid", "chunk_id": None,
}  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(value: object) -> Path:
        path = tmp_path / "export.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    return write


def archive(path: Path, entries: dict[str, Any]) -> Path:
    with ZipFile(path, "w") as zipped:
        for name, value in entries.items():
            zipped.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path


def reasons(found: Iterable[Draft | Problem | Skipped]) -> list[str]:
    return [item.reason for item in found if isinstance(item, Problem)]


@pytest.mark.parametrize(
    "form", [[MEMORY], {"results": [MEMORY], "total": 1}, [{"results": [MEMORY]}], MEMORY]
)
def test_a_memory_of_mem0(write: Write, form: object) -> None:
    path = write(form)
    assert known_kind(path) == "mem0"
    assert list(read_mem0(path, source="s", prefix="p/")) == [
        Draft(
            body="Likes tea.",
            key="p/mem0/m-1",
            role="user",
            author="ann",
            source="s",
            session_id="talk-7",
            tags=("food",),
            metadata={
                "room": "kitchen",
                "mem0": {
                    "id": "m-1", "user_id": "ann", "role": "user", "updated_at": "2026-01-03T00:00:00+00:00",
                    "hash": "5d41", "immutable": True,
                },
            },
            occurred_at=datetime(2026, 1, 2, 10, 4, 5, tzinfo=UTC),
            expires_at=datetime(2027, 1, 1, tzinfo=UTC),
        )
    ]  # fmt: skip


def test_the_relations_of_mem0_are_counted(write: Write) -> None:
    relation = {"source": "ann", "relationship": "likes", "target": "tea"}
    _, counted = read_mem0(write({"results": [MEMORY], "relations": [relation] * 2}), source="s")
    assert isinstance(counted, Skipped)
    assert (counted.what.split(",")[0], counted.count) == ("relations between entities", 2)


@pytest.mark.parametrize("form", [[FACT], {"items": [FACT], "total": 1, "limit": 100, "offset": 0}])
def test_a_listed_fact_of_hindsight(write: Write, form: object) -> None:
    path = write(form)
    assert known_kind(path) == "hindsight"
    assert list(open_source(path, source="s", prefix="p/")) == [
        Draft(
            body="Mira signed.",
            key="p/hindsight/f-1",
            layer="episodic",
            context="harbour",
            source="s",
            session_id="talk-7",
            tags=("Mira", "Harbour Trust", "user:ann"),
            metadata={
                "from": "slack",
                "hindsight": {
                    "id": "f-1", "fact_type": "experience", "document_id": "talk-7",
                    "entities": ["Mira", "Harbour Trust"], "mentioned_at": "2026-01-02T00:00:00+00:00",
                    "proof_count": 2,
                },
            },
            occurred_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
    ]  # fmt: skip


def test_retired_facts_and_observations(write: Write) -> None:
    path = write(
        [
            {"id": "a", "text": "x", "type": "world", "state": "invalidated", "invalidated_at": "2026-02-01"},
            {"id": "b", "text": "x", "fact_type": "world", "state": "invalidated"},
            {"id": "c", "text": "x", "type": "observation", "source_memory_ids": ["a", "gone"]},
        ]
    )  # fmt: skip
    retired, problem, observation = read_hindsight(path, source="s")
    assert isinstance(retired, Draft)
    assert retired.valid_until == datetime(2026, 2, 1, tzinfo=UTC)
    assert retired.links == (DraftLink("hindsight/c", "supports"),)
    assert isinstance(problem, Problem)
    assert problem.reason.startswith("record 2: it was invalidated, but has neither")
    assert isinstance(observation, Draft)
    assert (observation.layer, observation.occurred_at) == ("knowledge", None)


def test_an_archive_of_hindsight(tmp_path: Path) -> None:
    facts = [
        {"text": "The rent rose.", "fact_type": "world", "entities": ["Ann"]},
        {"text": "Ann moved.", "fact_type": "experience", "source_id": "f-9", "event_date": "2026-01-01",
         "causal_relations": [{"relation_type": "caused_by", "target_fact_index": 0},
                              {"relation_type": "caused_by", "target_fact_index": 7}]},
        {"fact_type": "world"},
    ]  # fmt: skip
    path = archive(
        tmp_path / "bank.zip",
        {
            "manifest.json": {"schema_version": 1, "source_bank_id": "ann"},
            "documents/000000.json": {"id": "talk", "facts": facts},
            "documents/000001.json": b"{",
            "observations.json": [
                {
                    "text": "Ann is mobile.",
                    "sources": [{"document_id": "talk", "fact_index": 1}],
                    "occurred_start": "0001-01-01T00:00:00Z",
                    "created_at": "2026-01-03T00:00:00Z",
                }
            ],
        },
    )
    assert known_kind(path) == "hindsight"
    found = list(open_source(path, source="s", layer="activity"))
    assert reasons(found) == [
        "documents/000000.json, fact 3: text is required.",
        "documents/000001.json: Expecting property name enclosed in double quotes: line 1 column 2 (char 1).",
    ]
    observation, first, second = (item for item in found if isinstance(item, Draft))
    assert [draft.key for draft in (observation, first, second)] == [
        "hindsight/observation/1", "hindsight/talk/1", "hindsight/f-9",
    ]  # fmt: skip
    assert observation.occurred_at == datetime(2026, 1, 3, tzinfo=UTC)
    assert second.links == (
        DraftLink("hindsight/observation/1", "supports"),
        DraftLink("hindsight/talk/1"),
    )
    assert (second.session_id, second.layer, second.metadata["hindsight"]["bank"]) == (
        "talk",
        "activity",
        "ann",
    )
    assert second.occurred_at == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (7, "record 2: must be an object."),
        ({"id": "b"}, "record 2: memory is required."),
        ({"id": "b", "memory": 7}, "record 2: memory must be a text."),
        ({"id": "b", "memory": " "}, "record 2: it has no text."),
        ({"id": "m-1", "memory": "x"}, "record 2: id 'm-1' is already used by record 1."),
    ],
)
def test_a_bad_memory_is_one_sentence(write: Write, record: object, reason: str) -> None:
    first, problem = read_mem0(write([MEMORY, record]), source="s")
    assert isinstance(first, Draft)
    assert isinstance(problem, Problem)
    assert problem.reason.startswith(reason)


def test_a_memory_without_an_id_gets_one_from_its_text(write: Write) -> None:
    path = write([MEMORY, {"memory": "Hung."}, {"memory": "Brass."}])
    keys = [[item.key for item in read_mem0(path, source="s") if isinstance(item, Draft)] for _ in range(2)]
    assert (len(set(keys[0])), keys[0]) == (3, keys[1])


@pytest.mark.parametrize("text", ["{", "7", '[{"role": "user", "content": "x"}]', "[" * 100_000, '"\x00"'])
def test_another_file_is_refused_with_the_way_out(write: Write, text: str) -> None:
    for read in (read_mem0, read_hindsight):
        with pytest.raises(InvalidInput):
            read(write(text), source="s")
    assert known_kind(write(text)) == "chat"


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({}, "There is no item named 'manifest.json'"),
        ({"manifest.json": {"schema_version": 2}}, "of an unknown version"),
        ({"manifest.json": b"\x81\x81"}, "not UTF-8"),
    ],
)
def test_another_archive_is_refused(tmp_path: Path, entries: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_hindsight(archive(tmp_path / "a.zip", entries), source="s")


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    whole = archive(
        tmp_path / "a.zip", {"manifest.json": {"schema_version": 1}, "documents/0.json": {"id": "d"}}
    )
    whole.write_bytes(whole.read_bytes()[:-30])
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_hindsight(whole, source="s")


NAMES = st.sampled_from(
    [*MEMORY, *FACT, "results", "items", "memories", "facts", "source_id", "sources", "source_memory_ids",
     "document_id", "fact_index", "causal_relations", "target_fact_index", "invalidated_at", "event_date"]
)  # fmt: skip
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-3, 10**20) | st.text(max_size=5)
    | st.sampled_from(["2026-01-01", "0001-01-01", "9999-12-31T23:59:59-10:00", "invalidated", "f-1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=12,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(change=st.dictionaries(NAMES, JSON, max_size=4), beside=JSON)
def test_any_json_gives_drafts_problems_or_a_refusal(tmp_path: Path, change: Any, beside: object) -> None:
    path = tmp_path / "a.json"
    for record in (MEMORY | change, FACT | change, beside):
        path.write_text(json.dumps([record, beside]))
        for read in (read_mem0, read_hindsight, open_source):
            try:
                found = list(read(path, source="s"))
            except InvalidInput:
                continue
            assert all(isinstance(item, Draft | Problem | Skipped) for item in found)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(facts=JSON, observations=JSON, flaw=st.integers(0, 400))
def test_any_archive_gives_drafts_problems_or_a_refusal(
    tmp_path: Path, facts: object, observations: object, flaw: int
) -> None:
    entries = {
        "manifest.json": {"schema_version": 1, "source_bank_id": "b"},
        "documents/000000.json": {"id": "d", "facts": facts},
        "observations.json": observations,
    }
    path = archive(tmp_path / "a.zip", entries)
    for spoilt in (False, True):
        if spoilt:
            data = bytearray(path.read_bytes())
            data[flaw % len(data)] ^= 0x55
            path.write_bytes(data)
        try:
            found = list(read_hindsight(path, source="s"))
        except InvalidInput:
            continue
        assert all(isinstance(item, Draft | Problem | Skipped) for item in found)
