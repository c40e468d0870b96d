"""The benchmarks of rerankers and of LoCoMo at a tiny size, and what they print."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.intervals import bootstrap_interval
from benchmarks.locomo import __main__ as locomo
from benchmarks.locomo.data import BEAM, LOCOMO, absent_of, corpus_of, questions_of, turns_of
from benchmarks.locomo.scores import Scores, gain, verdict
from benchmarks.locomo.stages import stages as stages_of
from benchmarks.rerank import __main__ as rerank
from benchmarks.rerank.pairs import invented, of_conversations
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.search.rerank.reranker import CallableReranker
from tests.integration.rerank.test_reranking_models import save_tiny

# Reranking


def test_invented_questions_are_the_same_at_every_call() -> None:
    first, second = invented(2)
    assert invented(3)[:2] == [first, second]
    assert first.question != second.question
    assert len({candidate.id for candidate in first.candidates}) == 50
    lengths = sorted(len(candidate.text) for asked in (first, second) for candidate in asked.candidates)
    assert lengths[-1] > 3 * lengths[len(lengths) // 2], "without long texts there is no padding to save"


@pytest.mark.timeout(600)
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sentence_transformers", "onnxscript")),
    reason="pgrecall[local,onnx] is not installed",
)
def test_every_reranker_is_held_against_the_plain_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save_tiny(tmp_path / "tiny")
    rerank.main([str(folder), "--asked", "3", "--rounds", "2", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["questions"] == "invented"
    assert {"torch", "onnxruntime", "sentence-transformers"} <= set(document["versions"])
    rows: list[dict[str, Any]] = document["rows"]
    names = {"local float32", "local bfloat16", "onnx float32", "onnx int8", "callable", "http"}
    assert names <= {row["measure"] for row in rows}
    kept = {row["measure"].split(":")[0]: row for row in rows if "kept" in row["measure"]}
    assert set(kept) == names
    for name in ("local float32", "onnx float32", "callable", "http"):
        assert kept[name]["measured"] == 1.0, f"{name} changes the order"
    assert "of 3 questions" in kept["onnx int8"]["measure"]
    for row in rows:
        assert row["ratio"] == pytest.approx(row["measured"] / row["floor"])
        sign, bound = row["goal"].split() if row["goal"] else ("<=", "inf")
        assert row["ok"] == (row["ratio"] <= float(bound) if sign == "<=" else row["ratio"] >= float(bound))
    read = [row for row in rows if row["measure"].endswith(", read")]
    assert len(read) == 9
    assert all(0 <= row["measured"] <= row["floor"] == 50 for row in read)


# LoCoMo

TURNS = [
    ("Ana", "We moved to Lisbon in March."),
    ("Ben", "How is the flat, Ana?"),
    ("Ana", "Tiny, and the balcony looks over the river."),
    ("Ben", "I painted the violin blue."),
]
CONVERSATION = {
    "sample_id": "conv-1",
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": speaker, "dia_id": f"D1:{place}", "text": text}
            for place, (speaker, text) in enumerate(TURNS, 1)
        ],
    },
    "qa": [
        {"question": "When did Ana move to Lisbon?", "evidence": ["D1:1"], "category": 2},
        {"question": "What does the balcony look over?", "evidence": ["D1:3; D1:2"], "category": 1},
        {"question": "Which colour has the instrument?", "evidence": ["D1:4", "D7:1"], "category": 4},
        {"question": "Was it said that he swims?", "evidence": ["D1:2"], "category": 5},
        {"question": "What is nowhere?", "evidence": ["D9:9"], "category": 4},
    ],
}


@pytest.fixture
def locomo_file(tmp_path: Path) -> Path:
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([CONVERSATION]))
    return file


def test_only_questions_with_evidence_in_a_turn_count(locomo_file: Path) -> None:
    kept = list(questions_of(CONVERSATION))
    assert [question.category for question in kept] == ["temporal", "multi-hop", "single-hop"]
    assert kept[1].evidence == {"conv-1/D1:2", "conv-1/D1:3"}
    assert kept[2].evidence == {"conv-1/D1:4"}
    assert list(absent_of(CONVERSATION)) == []
    (asked, *_) = of_conversations(locomo_file, 1)
    assert {candidate.text for candidate in asked.candidates} == {f"{who}: {what}" for who, what in TURNS}


def test_measures_of_two_rankings_by_hand() -> None:
    first, second, _ = questions_of(CONVERSATION)
    scores, none = Scores(), Scores()
    scores.add(first, ["x", "conv-1/D1:1"])
    scores.add(second, [*"abcde", "conv-1/D1:2"])
    summary = scores.summary(LOCOMO, turns_of(CONVERSATION))
    assert (summary["recall@1"], summary["recall@5"], summary["recall@10"]) == (0.0, 0.5, 0.75)
    assert summary["mrr"] == pytest.approx((1 / 2 + 1 / 6) / 2, abs=1e-4)
    categories = summary["recall@10 by category"]
    assert {name: group["mean"] for name, group in categories.items()} == {"multi-hop": 0.5, "temporal": 1.0}
    for question in (first, second):
        none.add(question, [])
    assert gain(scores, none)["recall@10"] == [0.75, 0.5, 1.0]
    assert bootstrap_interval([0.25] * 9) == (0.25, 0.25)


def test_beam_is_grouped_by_role_and_length_of_the_evidence() -> None:
    """A question counts in each group with its part of the evidence."""
    lengths = {"D1:1": ("User", 20), "D1:2": ("Assistant", 3000), "D1:3": ("User", 30), "D1:4": ("User", 99)}
    beam = {
        "sample_id": "beam-1",
        "conversation": {
            "session_1": [
                {"speaker": speaker, "dia_id": turn, "text": "x" * length}
                for turn, (speaker, length) in lengths.items()
            ]
        },
        "qa": [
            {"question": "Both?", "evidence": ["D1:1", "D1:2"], "category": 1},
            {"question": "One?", "evidence": ["D1:3", "D1:4"], "category": 3},
        ],
    }
    assert corpus_of(Path("dev.json"), [beam]) is corpus_of(Path("beam100k.json.gz"), []) is BEAM
    assert corpus_of(Path("locomo10.json"), [CONVERSATION]) is LOCOMO
    both, one = questions_of(beam)
    scores = Scores()
    scores.add(both, ["beam-1/D1:2"])
    scores.add(one, ["beam-1/D1:3", "beam-1/D1:4"])
    summary = scores.summary(BEAM, turns_of(beam))
    assert list(summary["recall@10 by category"]) == ["multi-session", "update, contradiction"]
    roles = summary["recall@10 by role of the evidence"]
    assert {role: (group["mean"], group["questions"]) for role, group in roles.items()} == {
        "user": (0.5, 2),
        "assistant": (1.0, 1),
    }
    by_length = summary["recall@10 by length of the evidence"]
    assert {name: group["mean"] for name, group in by_length.items()} == {
        "0 to 20 characters": 0.0,
        "21 to 30 characters": 1.0,
        "31 to 99 characters": 1.0,
        "100 to 3,000 characters": 1.0,
    }


def test_fused_is_compared_with_the_best_arm_of_each_measure() -> None:
    question, *_ = questions_of(CONVERSATION)
    (evidence,) = question.evidence
    scores = {stage: Scores() for stage in ("words", "meaning", "fused")}
    for stage, found in {"words": ["x", evidence], "meaning": [evidence], "fused": ["x", evidence]}.items():
        for _ in range(20):
            scores[stage].add(question, found)
    result = verdict(scores, "fused", ["words", "meaning"])
    assert result["recall@10"]["ok"]
    assert result["mrr"] == {"best arm": "meaning", "difference": -0.5, "95%": [-0.5, -0.5], "ok": False}


def oracle(_: str, texts: Sequence[str]) -> list[float]:
    return [9.0 if "violin" in text else -9.0 for text in texts]


@pytest.fixture
def _here(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", server.url)
    monkeypatch.setenv("PGRECALL_EMBEDDER", "hash")


@pytest.mark.usefixtures("_here")
def test_every_stage_is_measured_and_the_reranker_changes_the_order(locomo_file: Path) -> None:
    results = locomo.run(locomo_file, CallableReranker(oracle, "oracle", "logit"), lambda _: None)
    stages = results["stages"]
    assert list(stages) == list(stages_of(embeds=True, reranks=True))
    assert all(stage["questions"] == 3 for stage in stages.values())
    assert stages["words"]["recall@10 by category"]["temporal"]["mean"] == 1.0
    assert stages["words"]["recall@10 by category"]["single-hop"]["mean"] == 0.0, "no word of it was said"
    assert stages["fused, reranked"]["recall@1"] != stages["fused"]["recall@1"]
    assert set(results["paired difference to fused"]) == set(stages) - {"fused"}


@pytest.mark.usefixtures("_here")
def test_pooled_conversations_are_searched_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {**CONVERSATION, "sample_id": "conv-2"}
    file = tmp_path / "two.json"
    file.write_text(json.dumps([CONVERSATION, other]))
    results = []
    for options in (["--pooled"], []):
        locomo.main([str(file), *options, "--json"])
        results += json.loads(capsys.readouterr().out)
    pooled, apart = results
    assert pooled["pooled"]
    assert not apart["pooled"]
    assert pooled["stages"]["words"]["mrr"] < apart["stages"]["words"]["mrr"], "the twin has the same words"


@pytest.mark.usefixtures("_here")
def test_a_failing_reranker_stops_the_measurement(locomo_file: Path) -> None:
    def broken(_: str, texts: Sequence[str]) -> list[float]:
        return [float("nan") for _ in texts]

    with pytest.raises(RuntimeError, match=r"Not reranked: .*finite"):
        locomo.run(locomo_file, CallableReranker(broken, "broken", "logit"), lambda _: None)


@pytest.mark.usefixtures("_here")
def test_the_tables_show_stages_and_published_baselines(
    locomo_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locomo.main([str(locomo_file)])
    printed = capsys.readouterr().out
    for line in ("words", "meaning", "fused, vitality off", "LlamaIndex, relative score", "0.678"):
        assert line in printed
    assert "no reranker" in printed
    assert "fused, reranked" not in printed
