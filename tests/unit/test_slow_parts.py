"""The parts of the suite that `make test` leaves out: each is there, and says what it guards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slow import SLOW

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", SLOW)
def test_a_part_is_a_folder_a_file_or_a_test(part: str) -> None:
    file, _, test = part.partition("::")
    path = ROOT / file
    found = [path] if path.exists() else sorted(path.parent.glob(f"{path.name}*.py"))
    assert found, f"{file} is gone: take it out of tests/slow.py"
    assert not test or f"def {test.partition('[')[0]}" in path.read_text(encoding="utf-8")
    assert SLOW[part]
