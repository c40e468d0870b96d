"""Judged queries: both forms arrive whole, and a bad line stops everything with its number."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pgrecall.errors import InvalidInput
from pgrecall.importers.qrels import read_qrels
from pgrecall.nouns.calibration.models import JudgedQuery, Judgement
from pgrecall.nouns.search.models import SearchRequest

EXAMPLES = Path(__file__).parents[3] / "examples" / "judged"


def write(folder: Path, *lines: object) -> Path:
    path = folder / "qrels.jsonl"
    rows = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(rows))
    return path


def test_all_that_answers_is_given(tmp_path: Path) -> None:
    path = write(tmp_path, {"query": "boats", "relevant": ["a", 7, "a"]}, {"query": "none", "relevant": []})
    boats, none = read_qrels(path)
    assert boats == JudgedQuery(SearchRequest("boats"), (Judgement("a", True), Judgement(7, True)))
    assert boats.complete
    assert none == JudgedQuery(SearchRequest("none"), ())


def test_some_are_judged(tmp_path: Path) -> None:
    judgements = [{"key": "a", "relevant": True, "propensity": 0.25}, {"id": 7, "relevant": False}]
    (found,) = read_qrels(write(tmp_path, {"query": "boats", "judgements": judgements}))
    assert found.judgements == (Judgement("a", True, 0.25), Judgement(7, False, 1.0))
    assert not found.complete


def test_what_feedback_exports_is_read_as_it_is(tmp_path: Path) -> None:
    line = {
        "search_id": 3, "query": "", "queries": ["hull", "sail"], "at": "2026-05-01T10:00:00+00:00",
        "judgements": [
            {"id": 7, "key": None, "rank": 1, "verdict": "skipped", "relevant": False, "propensity": 1.0},
            {"id": 8, "key": "b", "rank": 2, "verdict": "used", "relevant": True, "propensity": 0.6},
        ],
    }  # fmt: skip
    (found,) = read_qrels(write(tmp_path, line))
    assert found == JudgedQuery(
        SearchRequest("", queries=("hull", "sail")),
        (Judgement(7, False), Judgement("b", True, 0.6)),  # a key holds in other databases too
        complete=False,
    )


def test_filters_are_given_to_search_and_notes_are_not(tmp_path: Path) -> None:
    line = {
        "query": "boats", "relevant": ["D1:2"], "queries": ["hull", "sail"], "roles": ["assistant"],
        "authors": ["Mira"], "layers": ["episodic"], "tags": ["t"], "hints": ["hull"], "cues": ["D1:1", 4],
        "since": "2026-01-01", "until": "2026-01-31", "as_of": "2026-03-01T10:00:00Z",
        "id": "q1", "kind": "time-window", "sample_id": "talk", "asked": "boats?", "outdated": ["D1:0"],
    }  # fmt: skip
    (found,) = read_qrels(write(tmp_path, line))
    assert found.question == SearchRequest(
        "boats",
        queries=("hull", "sail"),
        roles=("assistant",),
        authors=("Mira",),
        layers=("episodic",),
        tags=("t",),
        hints=("hull",),
        cues=("talk/D1:1", 4),
        since=datetime(2026, 1, 1, tzinfo=UTC),
        until=datetime(2026, 2, 1, tzinfo=UTC),  # the last day is included
        as_of=datetime(2026, 3, 1, 10, tzinfo=UTC),
    )
    assert found.judgements == (Judgement("talk/D1:2", True),)


def test_a_time_is_the_end_itself(tmp_path: Path) -> None:
    (found,) = read_qrels(write(tmp_path, {"query": "a", "relevant": [], "until": "2026-01-31T08:00:00Z"}))
    assert found.question.until == datetime(2026, 1, 31, 8, tzinfo=UTC)


OTHERS = ("statements", "changes", "follow-ups", "named")
"""What is no file of queries: follow-ups have conversations, which `calibration fit` does not read."""

QUERIES = sorted(path.stem for path in EXAMPLES.glob("*.jsonl") if path.stem not in OTHERS)


@pytest.mark.parametrize("name", QUERIES)
def test_the_examples_are_judged_queries(name: str) -> None:
    found = read_qrels(EXAMPLES / f"{name}.jsonl")
    assert len(found) > 40
    assert any(not query.judgements for query in found)  # nothing to find
    assert all(query.complete for query in found)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff", "byte 0 (0xff) is not UTF-8"),
        ([], "must be a JSON object"),
        ({"relevant": []}, "query is required"),
        ({"query": " ", "relevant": []}, "query: is empty, and neither queries nor a time window is given"),
        ({"query": "a\0b", "relevant": []}, "query: contains a NUL character"),
        ({"query": "a"}, "give either relevant or judgements"),
        ({"query": "a", "relevant": [], "judgements": []}, "give either relevant or judgements"),
        ({"query": "a", "relevant": "b"}, "relevant must be a list"),
        ({"query": "a", "relevant": [True]}, "relevant.0 must be a text; relevant.0 must be a whole number"),
        ({"query": "a", "relevant": [0]}, "relevant.0 must be a text; relevant.0 must be at least 1"),
        ({"query": "a", "judgements": [{"relevant": True}]}, "judgements.0: give a key or an id"),
        ({"query": "a", "judgements": [{"key": "b"}]}, "judgements.0.relevant is required"),
        (
            {"query": "a", "judgements": [{"key": "b", "relevant": 1}]},
            "judgements.0.relevant must be true or false",
        ),
        (
            {"query": "a", "judgements": [{"key": "b", "relevant": True, "propensity": 0}]},
            "judgements.0.propensity must be greater than 0",
        ),
        (
            {"query": "a", "judgements": [{"key": "b", "relevant": True, "propensity": 1.5}]},
            "judgements.0.propensity must be at most 1",
        ),
        (
            {"query": "a", "judgements": [{"key": "b", "relevant": x} for x in (True, False)]},
            "judgements names a memory twice",
        ),
        ({"query": "a", "relevant": [], "queries": []}, "queries: is empty"),
        ({"query": "a", "relevant": [], "queries": [""]}, "queries.0 must not be empty"),
        ({"query": "a", "relevant": [], "roles": ["boss"]}, "roles.0 must be 'user'"),
        ({"query": "a", "relevant": [], "since": "soon"}, "since: 'soon' is not a date"),
        ({"query": "a", "relevant": [], "until": 3}, "until: must be a date or time as a string"),
        (
            {"query": "a", "relevant": [], "since": "2026-01-02", "until": "2026-01-01"},
            "since is not before until",
        ),
        ({"query": "a", "relevant": [], "relevance": 1}, 'there is no field "relevance"'),
    ],
)
def test_a_bad_line_is_reported_with_its_number(tmp_path: Path, line: object, reason: str) -> None:
    path = write(tmp_path, {"query": "good", "relevant": ["a"]}, b"", line)
    with pytest.raises(InvalidInput) as refused:
        read_qrels(path)
    assert str(refused.value).startswith(f"{path} cannot be used: line 3: {reason}")
    assert str(refused.value).endswith("Correct the file; nothing was done.")


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, *[{"query": number} for number in range(5)])
    with pytest.raises(InvalidInput, match=r"line 1: .*; line 2: .*; line 3: .*; and 2 more lines\. "):
        read_qrels(path)


def test_a_file_must_be_there_and_hold_something(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"has no judged queries\. Add one JSON object per line"):
        read_qrels(write(tmp_path, b"", b"  "))
    with pytest.raises(InvalidInput, match="There is no file"):
        read_qrels(tmp_path / "nowhere.jsonl")
