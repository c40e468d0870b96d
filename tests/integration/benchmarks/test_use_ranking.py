"""The benchmark of use against a real Postgres, on a small history made here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.use_ranking.__main__ import main
from benchmarks.use_ranking.replay import WAYS
from pgrecall.embedded.shared_server import EmbeddedServer

HOUR = 3600
WORDS = ["tide", "gauge", "surge", "swell", "storm", "crane"]


def make_history(path: Path) -> None:
    """Six files, of which one changes every week; each subject could mean two of them."""
    items = [[f"{word}.md", f"notes about the {word} and the harbour"] for word in WORDS]
    log = [[1_600_000_000, 0, list(range(6)), [], [], 0]]
    questions = []
    for week in range(1, 12):
        at = 1_600_000_000 + week * 7 * 24 * HOUR
        questions.append(
            {
                "q": "the harbour notes",
                "t": at,
                "author": 0,
                "at": len(log),
                "right": [2],
                "named": 0,
                "cos": "",
            }
        )
        log.append([at, 0, [], [2], [4] if week == 5 else [], 0])
    history = {"name": "made", "t0": 0, "items": items, "log": log, "evals": questions}
    path.write_bytes(gzip.compress(json.dumps(history).encode()))


@pytest.fixture
def histories(tmp_path: Path, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", server.url)
    monkeypatch.setenv("PGRECALL_EMBEDDER", "none")
    make_history(tmp_path / "made.json.gz")
    return tmp_path


def test_what_is_used_again_and_again_comes_first(
    histories: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(histories), "--json", "--questions", "5"])

    results = json.loads(capsys.readouterr().out)

    assert list(results) == ["made"]
    figures = results["made"]
    assert list(figures) == list(WAYS)
    assert figures["off"]["gain"] == figures["off"]["harm"] == figures["off"]["help"] == 0
    assert figures["default"]["mrr"] > figures["off"]["mrr"]
    assert figures["default"]["help"] > 0 == figures["default"]["harm"]


def test_a_folder_without_histories_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main([str(tmp_path)])
    assert exited.value.code == 2
    assert f"There is no history .json.gz at {tmp_path}." in capsys.readouterr().err
