"""The table of what applies over a tiny chat, from the command line to the figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.applies import __main__ as applies
from pgrecall.embedded.shared_server import EmbeddedServer
from tests.unit.benchmarks.test_applies import CHAT


def test_every_question_of_a_file_is_asked(
    tmp_path: Path,
    server: EmbeddedServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", server.url)
    monkeypatch.setenv("PGRECALL_EMBEDDER", "hash")
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([CHAT]))
    applies.main([str(file), "--no-examples", "--json"])
    (row,) = json.loads(capsys.readouterr().out).values()
    assert row["questions"] == 2
    assert row["recall@10"]["fused"] == 1, "all six turns are among ten"
    assert row["silent"]["absent"][1] == 1
    assert 0 <= row["newer first"]["fused"] <= 1
