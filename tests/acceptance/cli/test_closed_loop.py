"""Use decides: of two equally relevant memories the one that was used comes first, for a while."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.cli.command_tools import Command

QUESTION = "how is the gauge cleaned"
NOW = "2026-06-01T12:00:00+00:00"
USED = "2026-05-31"
MUCH_LATER = "2027-06-01"


def test_a_used_memory_rises_and_falls_back(pgrecall_process: Command, tmp_path: Path) -> None:
    pgrecall = pgrecall_process
    lines = tmp_path / "pair.jsonl"
    body = "The gauge is cleaned with a brush and fresh water."
    written = "2026-01-01"
    lines.write_text(
        "".join(
            json.dumps({"key": key, "body": body, "occurred_at": written}) + "\n"
            for key in ("leader", "lower")
        )
    )
    assert pgrecall("import", str(lines), "--now", NOW).code == 0
    for day in ("2026-02-01", "2026-02-02"):
        assert pgrecall("access", "leader", "--at", day, "--now", NOW).code == 0

    def ask(now: str) -> tuple[list[str], dict[str, Any]]:
        hits = pgrecall("search", QUESTION, "--json", "--now", now).json["hits"]
        relevances = {round(hit["relevance"], 12) for hit in hits}
        assert len(relevances) == 1, "the two are equally relevant, whatever their use"
        return [hit["key"] for hit in hits], {hit["key"]: hit for hit in hits}

    order, before = ask(NOW)
    assert order == ["leader", "lower"]

    assert pgrecall("access", "lower", "--kind", "used", "--at", USED, "--now", NOW).code == 0
    order, after = ask(NOW)
    assert order == ["lower", "leader"]
    assert after["lower"]["score"] > before["leader"]["score"] > before["lower"]["score"]
    assert after["leader"]["score"] == pytest.approx(before["leader"]["score"], abs=1e-9)

    order, later = ask(MUCH_LATER)
    assert order == ["leader", "lower"]
    assert later["lower"]["score"] < after["lower"]["score"]
