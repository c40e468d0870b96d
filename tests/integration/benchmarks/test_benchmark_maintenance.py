"""The benchmark of maintenance at a tiny size, and what it prints; it checks its own work."""

from __future__ import annotations

import json

import pytest

from benchmarks.harness import Goal
from benchmarks.maintenance import __main__ as maintenance
from pgrecall.embedded.shared_server import EmbeddedServer

SIZE = ["--memories", "300", "--events", "200", "--rounds", "1", "--calls", "8"]


@pytest.fixture
def _here(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", server.url)


@pytest.mark.usefixtures("_here")
def test_every_row_ends_in_its_goal_and_whether_it_is_met(capsys: pytest.CaptureFixture[str]) -> None:
    maintenance.main([*SIZE, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["memories"], document["links"], document["events"]) == (300, 900, 200)
    assert {"pgrecall", "postgres", "networkx"} <= set(document["versions"])
    assert document["settings"]["shared_buffers"]
    rows = {row["measure"]: row for row in document["rows"]}
    assert len(rows) == len(document["rows"]) == 15
    assert [name for name, row in rows.items() if not row["goal"]] == ["the same fold"]
    for row in (row for row in rows.values() if row["goal"]):
        sign, bound = row["goal"].split()
        assert row["ratio"] == pytest.approx(row["measured"] / row["floor"])
        assert row["ok"] == (row["ratio"] <= float(bound) if sign == "<=" else row["ratio"] >= float(bound))
    assert rows["its updates that are HOT"]["floor"] == 300


@pytest.mark.usefixtures("_here")
def test_the_table_names_sizes_versions_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    maintenance.main(SIZE)
    printed = capsys.readouterr().out
    assert "300 memories, 900 links, 200 events, 1 rounds, 8 calls" in printed
    for line in (
        "refresh of all vitality",
        "graph job, again",
        "fold of 200 events",
        "one use",
        "postgres 1",
    ):
        assert line in printed
    ends = [
        line.rstrip(" │").rsplit(" ", 1)[-1] for line in printed.splitlines() if "= " in line and "│" in line
    ]
    assert len(ends) == 14
    assert set(ends) <= {"ok", "miss"}


def test_a_goal_is_a_bound_that_may_be_met_exactly() -> None:
    assert Goal(1.5).met(1.5)
    assert not Goal(1.5).met(1.51)
    assert Goal(0.95, least=True).met(0.95)
    assert not Goal(0.95, least=True).met(0.94)


@pytest.mark.parametrize(
    "wrong", [["--memories", "99"], ["--events", "0"], ["--rounds", "0"], ["--calls", "0"]]
)
def test_sizes_that_measure_nothing_are_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        maintenance.main(wrong)
    assert refused.value.code == 2
    assert "at least 100 memories" in capsys.readouterr().err
