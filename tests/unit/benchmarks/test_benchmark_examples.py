"""What the command over the judged questions prints, of answers made up for it."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from benchmarks.examples.__main__ import Answers, document, failures, kinds_table, overview, stages
from benchmarks.examples.answers import Answer
from benchmarks.examples.judged import Judged


def asked(number: int, kind: str, relevant: str, found: str, best: float) -> tuple[Judged, Answer]:
    keys = frozenset(relevant)
    return (
        Judged(f"q{number}", kind, "vault", f"question {number}", keys),
        Answer(kind, keys, frozenset(), tuple(found), best),
    )


@pytest.fixture
def answers() -> dict[str, Answers]:
    good = [asked(1, "callback", "a", "ab", 0.9), asked(2, "keyword", "b", "b", 0.8)]
    bad = [asked(1, "callback", "a", "xy", 0.01), asked(2, "keyword", "b", "xb", 0.7)]
    nothing = asked(3, "nothing-to-find", "", "z", 0.001)
    return {"words": [*bad, nothing], "fused": [*good, nothing]}


def printed(table: Table) -> str:
    console = Console(file=StringIO(), width=200)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_tables_show_each_stage_and_each_kind_that_has_answers(answers: dict[str, Answers]) -> None:
    rows = printed(overview(answers)).splitlines()
    words, fused = (next(row for row in rows if f" {stage} " in row) for stage in answers)
    assert "0.500" in words  # recall@10
    assert "0.250" in words  # mrr
    assert "1.000" in fused
    assert [cell.strip() for cell in fused.split("│")][-4:-1] == ["1.00", "1.00", "0.00"]

    kinds = printed(kinds_table(answers))
    assert "callback" in kinds
    assert "nothing-to-find" not in kinds
    assert "1.00 1.00-1.00 1.00" in kinds
    assert "0.00 0.00-0.00 0.00" in kinds


def test_the_document_holds_what_the_tables_show(answers: dict[str, Answers]) -> None:
    told = document(answers)

    assert told["words"]["all"]["recall_10"] == 0.5
    assert told["words"]["silence"]["wrongly"] == 0.5
    assert told["fused"]["kinds"].keys() == {"callback", "keyword"}


def test_the_worst_answer_is_listed_with_what_it_lacks(answers: dict[str, Answers]) -> None:
    listed = printed(failures(answers["words"], 1))

    assert "question 1" in listed
    assert "question 2" not in listed
    assert "│ a " in listed


def test_the_reranked_stage_needs_a_reranker() -> None:
    assert stages(True).keys() - stages(False).keys() == {"reranked"}
    assert not stages(False)["words"].meaning
