"""The report of how costs grow: exponents that are known come out, bounds are judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.growth import growths, main

SIZES = (50_000, 200_000, 1_000_000)


def run(size: int) -> dict[str, Any]:
    def row(measure: str, measured: float, floor: float) -> dict[str, Any]:
        return {"measure": measure, "measured": measured, "floor": floor, "unit": "ms"}

    return {
        "memories": size,
        "rows": [
            row("semantic and vitality", 2e-3 * size**0.5, 1e-3 * size**0.5),
            row("memories read by a search", 300, 1),
            row("planning the look into the vector index", 1e-6 * size, 1),
            row("refresh of all vitality", 3e-6 * size, 1),
            row("a row nobody asked for", size, 1),
        ],
    }


def test_known_exponents_come_out() -> None:
    found = {one.name: one for one in growths([run(size) for size in SIZES])}

    assert found["a search by meaning"].exponent == pytest.approx(0.5)
    assert found["a bare look into the vector index"].exponent == pytest.approx(0.5)
    assert found["refreshing all vitality"].exponent == pytest.approx(1)
    assert found["memories read by a search"].exponent == pytest.approx(0)
    assert {name: one.verdict for name, one in found.items() if one.bounded} == {
        "memories read by a search": "ok",
        "planning the look into the vector index": "miss",
    }
    assert not any("nobody" in name for name in found)


def test_files_that_are_no_runs_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    one.write_text(json.dumps(run(50_000)))
    other.write_text("[]")

    for files in ([one], [one, other], [one, tmp_path / "none.json"]):
        with pytest.raises(SystemExit) as stopped:
            main([str(file) for file in files])
        assert stopped.value.code == 2
    assert "not what benchmarks.speed --json prints" in capsys.readouterr().err


def test_a_missed_bound_sets_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"{size}.json" for size in SIZES]
    for size, file in zip(SIZES, files, strict=True):
        file.write_text(json.dumps(run(size)))

    with pytest.raises(SystemExit) as stopped:
        main([str(file) for file in files])

    assert stopped.value.code == 1
    assert "miss" in capsys.readouterr().out
