"""The next-access benchmark against a real Postgres, on a small log made here."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from benchmarks.next_access.__main__ import main
from pgrecall.embedded.shared_server import EmbeddedServer

MEASURES = ("mrr", "auc", "recall_at_10", "auc_7d")
PREDICTORS = ["pgrecall", "exact", "seed_o1", "lru", "lfu", "exp_7d", "exp_30d", "random"]
MAX_ACCESSES = 8


def make_log(path: Path) -> None:
    """Sixty batches of use over a year; an item is used again soon or not, and never more than eight times.

    Some items are deleted, some of them return, and one batch touches many in bulk.
    """
    rng = random.Random(7)
    lines = ["item,epoch,op,batch"]
    uses: dict[int, int] = {}
    recent: list[int] = []
    at = 1_600_000_000
    for batch in range(60):
        at += round(86_400 * rng.expovariate(1 / 6))
        ops = {item: "c" for item in rng.sample(range(40), 2) if item not in uses}
        ops |= {item: "a" for item in recent[-4:] if rng.random() < 0.6 and uses.get(item, 8) < MAX_ACCESSES}
        if batch % 9 == 8:
            ops[min(uses)] = "d"
        if batch == 30:
            ops = dict.fromkeys(uses, "b")
        for item, op in ops.items():
            lines.append(f"{item},{at},{op},{batch}")
            if op == "d":
                del uses[item]
            elif op != "b":
                uses[item] = uses.get(item, 0) + 1
                recent.append(item)
    path.write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))


@pytest.fixture
def logs(tmp_path: Path, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", server.url)
    make_log(tmp_path / "made.csv.gz")
    return tmp_path


def test_the_product_foretells_as_the_exact_sum_does(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(logs), "--json", "--evaluations", "25"])
    told = capsys.readouterr()
    assert told.err == ""  # progress is for terminals
    results = json.loads(told.out)
    assert list(results["logs"]) == ["made"]
    for figures in (results["logs"]["made"], results["mean"]):
        assert list(figures) == PREDICTORS
        assert all(0 <= figure[measure] <= 1 for figure in figures.values() for measure in MEASURES)
        low, high = figures["pgrecall"]["mrr_95"]
        assert low <= figures["pgrecall"]["mrr"] <= high
        for measure in MEASURES:
            assert figures["pgrecall"][measure] == pytest.approx(figures["exact"][measure], abs=0.01)
        assert figures["pgrecall"]["mrr"] > figures["lfu"]["mrr"] > 0
        assert figures["random"]["auc"] == 0.5
    cued = results["cued"]["made"]
    assert 0 < cued["batches"] <= 25
    assert all(0 <= cued[name] <= 1 for name in ("pgrecall", "association", "no cue"))
    assert results["replays"]["made"]["evaluated"] == 25 < results["replays"]["made"]["eligible"]
    assert results["settings"]["evaluations"] == 25
    assert results["versions"].keys() == {"pgrecall", "postgres", "numpy"}


def test_without_json_it_prints_a_row_for_each_predictor(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(logs / "made.csv.gz"), "--evaluations", "3"])
    printed = capsys.readouterr().out
    assert all(f" {name} " in printed for name in PREDICTORS)
    assert "made: " in printed
