"""The commands of calibration: a file of judged queries in, coefficients, a report and a picture out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import Command
from tests.integration.calibration.calibration_world import TOPICS, notes, write_qrels

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def qrels(pgrecall: Command, tmp_path: Path) -> str:
    """Notes, imported, and questions judged over them."""
    lines = [json.dumps({"key": key, "body": body}) for key, body in notes()]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines))
    assert pgrecall("import", str(tmp_path / "notes.jsonl")).code == 0
    return str(write_qrels(tmp_path / "qrels.jsonl"))


def test_it_is_fitted_reported_drawn_stored_and_reset(
    pgrecall: Command, pgrecall_process: Command, qrels: str, tmp_path: Path
) -> None:
    picture = tmp_path / "reliability.png"
    fitted = pgrecall_process("calibration", "fit", qrels, "--chart", str(picture))
    assert fitted.code == 0, fitted.err
    assert fitted.out.startswith(f"{TOPICS} queries, ")
    lines = {line.split("  ")[0]: line.split() for line in fitted.out.splitlines()}
    assert float(lines["log loss"][3]) < float(lines["log loss"][2])
    assert {"intercept", "similarity", "coverage", "graph"} <= set(lines)
    assert "The log loss falls: by 0." in fitted.out
    assert "Stored: these coefficients of balanced are in force for this tenant now.\n" in fitted.err
    assert f"The chart is in {picture}.\n" in fitted.err
    data = picture.read_bytes()
    assert data.startswith(PNG)
    assert len(data) > 10_000

    again = pgrecall("calibration", "fit", qrels)
    assert again.code == 1  # nothing is better than what has seen these very questions
    assert "Nothing was stored: on held-out queries this does not predict better.\n" in again.err

    reset = [pgrecall("calibration", "reset") for _ in range(2)]
    assert [(ended.code, ended.out) for ended in reset] == [
        (0, "The shipped coefficients are in force again.\n"),
        (1, ""),
    ]
    assert "are already in force" in reset[1].err


def test_a_dry_run_is_a_document_and_changes_nothing(pgrecall: Command, qrels: str) -> None:
    first, second = (pgrecall("calibration", "fit", qrels, "--dry-run", "--json") for _ in range(2))
    assert (first.code, first.out) == (0, second.out)
    document = first.json
    assert (document["queries"], document["relevant"], document["missed"]) == (TOPICS, TOPICS, 0)
    assert (document["better"], document["stored"]) == (True, False)
    assert document["gain"] == pytest.approx(document["before"]["log_loss"] - document["after"]["log_loss"])
    assert set(document["before"]) == {"log_loss", "brier", "ece", "mrr"}
    assert sum(entry["count"] for entry in document["reliability_after"]) == document["candidates"]
    assert "Nothing was stored: this was a dry run.\n" in first.err


def test_force_stores_what_is_no_better(pgrecall: Command, qrels: str) -> None:
    assert pgrecall("calibration", "fit", qrels).code == 0
    forced = pgrecall("calibration", "fit", qrels, "--force", "--json")
    assert (forced.code, forced.json["better"], forced.json["stored"]) == (0, False, True)
