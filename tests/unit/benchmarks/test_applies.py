"""The table of what applies: what it reads of files, and its figures against figures worked out by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from benchmarks.applies.__main__ import by_kind, overview
from benchmarks.applies.corpora import collection_of, judged_collections
from benchmarks.applies.figures import Outcome, against_best
from benchmarks.examples.judged import read_judged
from benchmarks.locomo.data import FACTS, Question, absent_of, corpus_of, questions_of, turns_of
from benchmarks.locomo.scores import NEWER, Scores, tables
from benchmarks.locomo.stages import ARMS_ALONE, FUSED

CHAT: dict[str, Any] = {
    "sample_id": "orla",
    "conversation": {
        "session_1_date_time": "9:00 am on 1 May, 2026",
        "session_1": [
            {"speaker": "User", "dia_id": f"D1:{n}", "text": f"Turn number {n}."} for n in range(1, 7)
        ],
    },
    "qa": [
        {
            "question": "When is the opening?",
            "evidence": ["D1:4"],
            "stale": ["D1:1", "D9:9"],
            "category": 8,
            "kind": "newest",
            "asked_at": "10:00 am on 15 May, 2026",
        },
        {
            "question": "What does he set in the car?",
            "evidence": ["D1:1", "D1:2", "D1:3", "D1:5"],
            "evidence_groups": [["D1:1", "D1:2", "D1:3"], ["D1:5"], ["D9:9"]],
            "category": 1,
            "kind": "preference",
        },
        {"question": "Which plumber?", "evidence": [], "category": 11, "kind": "absent"},
        {"question": "What is nowhere?", "evidence": ["D9:9"], "category": 1, "kind": "list"},
    ],
}


def key(*numbers: int) -> list[str]:
    return [f"orla/D1:{number}" for number in numbers]


@pytest.fixture
def newest() -> Question:
    return next(iter(questions_of(CHAT)))


@pytest.fixture
def grouped() -> Question:
    return list(questions_of(CHAT))[1]


def test_kinds_are_categories_and_questions_without_evidence_are_absent(
    newest: Question, grouped: Question
) -> None:
    assert [newest.category, grouped.category] == ["newest", "preference"]
    assert len(list(questions_of(CHAT))) == 2, "evidence that names no turn does not count"
    assert [question.text for question in absent_of(CHAT)] == ["Which plumber?"]
    assert corpus_of(Path("applies_dev.json.gz"), [CHAT]).name == "applies_dev"


def test_a_question_is_asked_when_the_file_says(newest: Question, grouped: Question) -> None:
    assert newest.options == {"now": datetime(2026, 5, 15, 10, tzinfo=UTC)}
    assert grouped.options == {}


def test_one_turn_of_each_group_is_enough(grouped: Question) -> None:
    assert len(grouped.groups) == 2
    assert grouped.recall(key(6, 2), 10) == 0.5
    assert grouped.recall(key(2, 1, 3), 10) == 0.5
    assert grouped.recall(key(3, 6, 5), 10) == 1
    assert grouped.recall(key(3, 6, 5), 2) == 0.5


def test_without_groups_every_turn_of_the_evidence_counts() -> None:
    question = Question("orla", "?", "x", frozenset(key(1, 2, 3, 4)))
    assert question.recall(key(2, 6, 4), 10) == 0.5
    assert question.recall(key(2, 6, 4), 1) == 0.25


def test_the_newer_must_be_found_before_the_older(newest: Question) -> None:
    assert newest.stale == frozenset(key(1)), "turns that do not exist are not stale"
    assert newest.newer_first(key(6, 4, 1))
    assert newest.newer_first(key(4))
    assert not newest.newer_first(key(1, 4))
    assert not newest.newer_first(key(1, 4, 1))
    assert not newest.newer_first(key(6))


def test_facts_are_a_corpus_of_their_own() -> None:
    sample = {**CHAT, "sample_id": "factconsolidation_6k", "qa": [{**CHAT["qa"][0]}]}
    del sample["qa"][0]["kind"]
    sample["qa"][0]["category"] = 3
    assert corpus_of(Path("dev.json"), [sample]) is FACTS
    assert [question.category for question in questions_of(sample)] == ["newest of two"]


def test_stages_with_pairs_show_how_often_the_newer_is_first(newest: Question, grouped: Question) -> None:
    corpus, scores = corpus_of(Path("chat.json"), [CHAT]), Scores()
    scores.add(newest, key(4, 1))
    scores.add(newest, key(1, 4))
    scores.add(grouped, key(5))
    summary = scores.summary(corpus, turns_of(CHAT))
    assert (summary[NEWER], summary["pairs"]) == (0.5, 2)
    assert list(summary["recall@10 by category"]) == ["newest", "preference"]
    shown = tables({"fused": summary}, corpus, "chat")
    assert len(shown) == 2, "published baselines are of LoCoMo"
    assert NEWER in printed(shown[0])
    del summary[NEWER]
    assert NEWER not in printed(tables({"fused": summary}, corpus, "chat")[0])


def test_all_arms_are_compared_with_the_better_one_question_by_question() -> None:
    values = {"words": [1.0, 0.0, 0.0, 0.0] * 5, "meaning": [0.5] * 20, FUSED: [0.25] * 20}
    figure = against_best(values)
    assert (figure["best arm"], figure["alone"], figure["fused"]) == ("meaning", 0.5, 0.25)
    assert (figure["difference"], figure["95%"], figure["ok"]) == (-0.25, [-0.25, -0.25], False)
    assert against_best({**values, FUSED: [1.0, 0.0] * 10})["ok"]


def outcome(newest: Question, grouped: Question) -> Outcome:
    made = Outcome()
    for stage in (*ARMS_ALONE, FUSED):
        found = key(4, 1) if stage == FUSED else key(1, 4)
        made.add(stage, newest, found, answered=True)
        made.add(stage, grouped, key(6, 5), answered=stage != FUSED)
        for absent, answered in ((Question("orla", "?", "absent", frozenset()), n == 0) for n in range(4)):
            made.add(stage, absent, key(2), answered=answered)
    return made


def test_a_row_has_every_figure(newest: Question, grouped: Question) -> None:
    row = outcome(newest, grouped).row()
    assert row["questions"] == 2
    assert row["recall@10"]["fused"] == 0.75
    assert row["mrr"]["fused"] == 0.75
    assert row["mrr"]["alone"] == 0.5
    assert (row[NEWER]["fused"], row[NEWER]["alone"], row[NEWER]["questions"]) == (1, 0, 1)
    assert row["silent"] == {"absent": [0.75, 4], "present": [0.5, 2]}
    assert list(row["kinds"]) == ["newest", "preference"]
    assert row["kinds"]["preference"]["recall@10"]["fused"] == 0.5
    assert NEWER not in row["kinds"]["preference"]


def test_the_tables_have_a_row_for_each_corpus_and_kind(newest: Question, grouped: Question) -> None:
    worse = Outcome()
    for stage in (*ARMS_ALONE, FUSED):
        for _ in range(9):
            worse.add(stage, grouped, key(6) if stage == FUSED else key(5), answered=True)
    rows = {"chat": outcome(newest, grouped).row(), "worse": worse.row()}
    chat, other = (
        next(line for line in printed(overview(rows)).splitlines() if f" {name} " in line) for name in rows
    )
    assert "0.750, words 0.500, +0.250" in chat
    assert "1.00 of 1, words 0.00" in chat
    assert "0.75 of 4" in chat
    assert "WORSE" not in chat
    assert other.count("WORSE") == 2
    kinds = printed(by_kind(rows))
    assert "newest" in kinds
    assert kinds.count("preference") == 2


def printed(table: Table) -> str:
    console = Console(file=StringIO(), width=250)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_file_becomes_a_tenant_for_each_conversation(tmp_path: Path) -> None:
    file = tmp_path / "chats_dev.json"
    file.write_text(json.dumps([CHAT, {**CHAT, "sample_id": "ben"}]))
    collection = collection_of(file)
    assert collection.name == "chats_dev"
    assert [tenant.name for tenant in collection.tenants] == ["chats_dev/orla", "chats_dev/ben"]
    assert [len(tenant.questions) for tenant in collection.tenants] == [3, 3]
    assert len(collection_of(file, limit=1).tenants) == 1


def test_a_folder_of_texts_with_grades_is_a_tenant(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "a", "text": "Wings."}\n{"_id": "b#1", "text": "Tails."}\n'
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "tails?"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tb#1\t1\nq\ta\t0\n")
    (tenant,) = collection_of(tmp_path).tenants
    (question,) = tenant.questions
    assert question.evidence == {"b#1"}
    assert tenant.key_of("b#1") == "b#1"


def test_the_examples_have_a_row_for_each_file_and_lose_no_question() -> None:
    collections = {one.name: one for one in judged_collections()}
    assert {"examples/judged/vault.jsonl", "examples/judged/applies-es.jsonl"} <= collections.keys()
    asked = [
        question for one in collections.values() for tenant in one.tenants for question in tenant.questions
    ]
    assert len(asked) == sum(bool(one.query) for one in read_judged())
    assert any(question.stale for question in asked)
    (vault,) = collections["examples/judged/vault.jsonl"].tenants
    assert vault.key_of("prices-and-tiers#Berths") == "prices-and-tiers"
