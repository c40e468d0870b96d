"""``pgrecall feedback``: the loop from a shown memory to a better order and to judged questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import Command

pytestmark = pytest.mark.in_turns


@pytest.fixture
def stored(pgrecall: Command, tmp_path: Path) -> Command:
    lines = [{"key": f"k{number}", "body": f"The harbour contract {number}"} for number in (17, 18, 19)]
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert pgrecall("import", str(file)).code == 0
    return pgrecall


def shown(pgrecall: Command) -> tuple[str, list[str]]:
    """A block of context: the id of its search, and the keys it shows."""
    told = pgrecall("context", "harbour contract", "--json").json
    return str(told["search_id"]), [hit["key"] for hit in told["hits"]]


def test_the_loop(stored: Command) -> None:
    search, keys = shown(stored)
    told = stored("feedback", "used", search, keys[2])
    assert (told.code, told.out, told.err) == (0, "1 used.\n", "")
    again = stored("feedback", "used", search, keys[2])
    assert (again.code, again.out) == (0, "0 used. 1 known before.\n")
    assert stored("feedback", "rejected", search, keys[0], keys[1]).out == "2 rejected.\n"
    assert shown(stored)[1][0] == keys[2]


def test_the_id_is_printed_with_the_text(stored: Command) -> None:
    told = stored("context", "harbour contract")
    number = told.err.strip().removesuffix(".").rpartition("Search ")[2]
    assert stored("feedback", "used", number, "k18").out == "1 used.\n"
    assert "Search" not in stored("context", "harbour contract", "--no-log").err


def test_show(stored: Command) -> None:
    nothing = stored("feedback", "report")
    assert (nothing.code, nothing.out) == (1, "")
    assert nothing.err == "No logged search showed any memory.\n"
    search, keys = shown(stored)
    assert "No search has been judged yet" in stored("feedback", "report").out
    stored("feedback", "used", search, keys[1])
    told = stored("feedback", "report")
    assert told.code == 0
    for part in ("shown", "rejected", "propensity", "1.000", *keys):
        assert part in told.out
    assert "judged yet" not in told.out
    document = stored("feedback", "report", "--json").json
    assert {one["key"]: one["used"] for one in document["memories"]} == {key: key == keys[1] for key in keys}
    assert [(one["rank"], one["used"]) for one in document["ranks"]] == [(1, 0), (2, 1), (3, 0)]
    unused = stored("feedback", "report", "--unused", "--json").json["memories"]
    assert {one["key"] for one in unused} == {keys[0], keys[2]}
    assert len(stored("feedback", "report", "-n", "1", "--json").json["memories"]) == 1
    assert stored("feedback", "report", "--since", "2099-01-01").code == 1


def test_export(stored: Command, tmp_path: Path) -> None:
    empty = stored("feedback", "qrels")
    assert (empty.code, empty.out, empty.err) == (1, "", "0 searches, 0 judgements.\n")
    search, keys = shown(stored)
    stored("feedback", "used", search, keys[1])
    told = stored("feedback", "qrels")
    assert (told.code, told.err) == (0, "1 search, 2 judgements.\n")
    [line] = told.out.splitlines()
    judged = json.loads(line)
    assert (judged["search_id"], judged["query"]) == (int(search), "harbour contract")
    assert judged["queries"] is None
    facts = [(one["key"], one["rank"], one["relevant"], one["verdict"]) for one in judged["judgements"]]
    assert facts == [(keys[0], 1, False, "skipped"), (keys[1], 2, True, "used")]
    assert all(0.1 <= one["propensity"] <= 1 for one in judged["judgements"])
    file = tmp_path / "judged.jsonl"
    assert stored("feedback", "qrels", "--out", str(file), "--judged-only").out == ""
    [strict] = [json.loads(line) for line in file.read_text().splitlines()]
    assert [one["key"] for one in strict["judgements"]] == [keys[1]]
